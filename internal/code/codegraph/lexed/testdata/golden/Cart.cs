#nullable enable
using System;
using System.Collections.Generic;
using Shop.Pricing;
using static Shop.Limits;
using Money = Shop.Pricing.Amount;

namespace Shop.Carts
{
    using Shop.Storage;

    /// <summary>
    /// A cart of <see cref="Line"/>s. More of it.
    /// </summary>
    /// <remarks>None.</remarks>
    [Serializable, Obsolete("class Fake { }")]
    public partial class Cart<T> : Base<T>, IShelf<T>, IDisposable where T : Line, new()
    {
        public const int Max = 10, Min = 1;
        private readonly Dictionary<string, List<T?>> _lines = new();
        private static readonly (int a, string b) Pair = (1, "b");
        public event EventHandler<CartEventArgs>? Changed;
        public event Action Removed { add { Hook(value); } remove { } }

        /// <summary>Makes a cart.</summary>
        public Cart(Money money, params T[] rest) : base(money) { Total = money; }
        ~Cart() { Dispose(false); }

        public Money Total { get; private set; } = Money.Zero;
        public int Count => _lines.Count;
        public string? Name { get => _name; init { _name = value ?? throw new ArgumentNullException(nameof(value)); } }
        private string? _name;
        public T this[int index, string key] { get { return _lines[key][index]!; } }
        public required int Needed { get; init; }

        public static Cart<T> operator +(Cart<T> a, T b) { a.Add(b); return a; }
        public static implicit operator bool(Cart<T> c) => c.Count > 0;
        public static bool operator ==(Cart<T> a, Cart<T> b) => ReferenceEquals(a, b);

        /// <inheritdoc/>
        public virtual async Task<(T line, int n)> AddAsync<U>(T line, Func<T, U>? by = null, int n = 1) where U : class
        {
            var total = await Pricer.PriceAsync(line, n: n);
            foreach (var (key, Max) in _lines) { Helper(Max); }
            if (line is Special { Ok: true } s && s.Check(out var found)) Console.WriteLine($"{s.Name:x} {{Fake()}} {Helper(found)} {(n < 2 ? "a" : "b")}");
            string path = @"C:\""temp""\", raw = """
                class Fake2 { "x" }
                """;
            var q = from x in _lines where x.Key != path select Convert(x);
            int Local(int y) => y < Max ? y : Limit;
            switch (total) { case Money m when m.Ok: break; default: Local(1); break; }
            lock (_lines) { Changed?.Invoke(this, new CartEventArgs(total)); }
            return (line, await Task.Run(() => this.Add(line)));
        }
        int IShelf<T>.Add(T line) => Add(line);
        internal int Add(T line) => 1;
        partial void OnChanged();
        [DllImport("x")] private static extern int native_call(IntPtr p);
        void Helper<K>(K k) { }

        protected internal enum State : byte { Open = 1, [Hidden] Closed = Open << 1 }
        private struct Point { public int X, Y; }
        public delegate R Mapper<in A, out R>(A a);
        public interface INested : IOne, ITwo { int Size { get; } void Go(int x); static abstract int Make(); }
    }

    public record Line(string Name, decimal Price = 0m) : Entity(Name), IComparable<Line>
    {
        public decimal Tax => Price * 2;
    }
    public readonly record struct Id(Guid Value);
    public static class Extensions { public static int Size(this Line line) => line.Name.Length; }

#if DEBUG
    class Debugging {
#else
    class Released {
#endif
        void Shared() { }
    }

    [TestFixture]
    public class CartTests
    {
        [Fact] public void Adds() { new Cart<Line>().Add(new Line("x")); }
        [Theory, InlineData(1)] public async Task Line_has_a_size(int n) { Extensions.Size(null); }
    }
}
