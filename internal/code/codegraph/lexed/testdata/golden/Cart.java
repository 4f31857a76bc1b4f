/*
 * Licence.
 */
package com.example.shop.cart;

import java.util.*;
import java.util.function.Function;
import com.example.shop.pricing.Money;
import com.example.shop.pricing.Rates.Kind;
import com.example.shop.store.*;
import static com.example.shop.Checks.notNull;
import static com.example.shop.Limits.*;

/**
 * A cart with {@link Line lines}, see <code>total</code>. Second sentence.
 *
 * @author someone
 */
@Component("cart")
@SuppressWarnings({"unchecked", "rawtypes"})
public abstract class Cart<T extends Line & Comparable<T>> extends Base<T> implements Shelf<T>, Iterable<T> {
    public static final int MAX = 10, MIN[] = {1, 2};
    private final Map<String, List<? super T>> lines = new HashMap<>();
    protected volatile Money cached;
    static { System.out.println("class Fake { void no() {} }"); }
    { cached = null; }

    /** Makes a cart. */
    public Cart(Money money, @Nullable final T... rest) throws ShopException {
        super(money);
        this.cached = notNull(money);
    }

    /** Adds up. */
    @Override
    public <R extends Number> Optional<R> total(Function<? super T, R> by, int[] counts) {
        Money MAX = Money.of(1);
        for (T line : lines.values()) { add(line); line.price(MAX); }
        Function<T, R> f = (T x) -> by.apply(x);
        var g = (Runnable) () -> { helper(LIMIT); };
        int less = 1 < 2 ? 3 : 4;
        try (Reader cached = Files.open(less)) { cached.read(); } catch (IOException | RuntimeException e) { throw new ShopException(e); }
        if (by instanceof Special s && s.ok()) return switch (less) { case 1 -> Optional.empty(); default -> { yield null; } };
        String text = """
            class Fake2 { "quoted" }
            """;
        char c = '\'', d = '"';
        return this.cached == null ? null : Rates.of(Kind.FULL).<R>apply(Cart::helper);
    }
    abstract void add(T line);
    private static long helper(long x) { return x; }
    int old()[] { return null; }

    public enum State implements Coded {
        OPEN("o") { @Override public String code() { return "x"; } },
        @Deprecated CLOSED(Money.ZERO),
        GONE;
        private final String code;
        State(Object... code) { this.code = code.toString(); }
        public String code() { return code; }
    }

    public record Line(String name, @Positive int count, Money price) implements Comparable<Line> {
        static int made;
        public Line { made++; }
        Line(String name) { this(name, 1, Money.ZERO); }
        public int compareTo(Line o) { return Integer.compare(count, o.count()); }
    }

    public @interface Marker { String value() default "x"; Class<?>[] of() default {}; }
    sealed interface Shape permits Circle, Square { double area(); default String label() { return "shape"; } }
    non-sealed class Circle implements Shape { public double area() { return Math.PI; } }
    static final class Square extends com.example.other.Polygon implements Shape { public double area() { return 1; } }
}

class CartTest {
    @Test void total() { new Cart(null).total(null, null); }
    @ParameterizedTest @ValueSource(ints = {1}) void addsLine(int n) { }
}
