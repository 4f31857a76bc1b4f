package lexed

// Keywords are words that name nothing. Those that are words of a language only in some
// places are left out where they are also used as names.
var (
	scriptWords = words(`break case catch class const continue debugger default delete do else enum export extends false
		finally for function if import in instanceof new null return super switch this throw true try typeof var void
		while with let static yield await as satisfies implements interface keyof readonly infer asserts`)

	pythonWords = words(`False None True and as assert async await break class continue def del elif else except finally
		for from global if import in is lambda nonlocal not or pass raise return try while with yield`)

	javaWords = words(`abstract assert boolean break byte case catch char class const continue default do double else enum
		extends final finally float for goto if implements import instanceof int interface long native new null package
		private protected public return short static strictfp super switch synchronized this throw throws transient true
		false try void volatile while var yield`)

	csharpWords = words(`abstract as base bool break byte case catch char checked class const continue decimal default
		delegate do double else enum event explicit extern false finally fixed float for foreach goto if implicit in int
		interface internal is lock long namespace new null object operator out override params private protected public
		readonly ref return sbyte sealed short sizeof stackalloc static string struct switch this throw true try typeof
		uint ulong unchecked unsafe ushort using virtual void volatile while var dynamic nameof await async yield where
		when and or not nint nuint select orderby join equals into`)

	rustWords = words(`as async await break const continue crate dyn else enum extern false fn for if impl in let loop
		match mod move mut pub ref return self Self static struct super trait true type unsafe use where while bool char
		str i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64`)

	cWords = words(`auto break case char const continue default do double else enum extern float for goto if inline int long
		register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
		_Bool _Alignas _Alignof _Atomic _Generic _Noreturn _Static_assert _Thread_local __attribute__ __inline
		__inline__ __restrict __extension__ __asm__ asm NULL true false bool typeof __typeof__ defined`)

	cppWords = words(`alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
		class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype
		default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int
		long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
		reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this
		thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
		xor_eq override final restrict __attribute__ __declspec __inline __restrict __extension__ NULL typeof __typeof__ defined`)
)

// Builtin names are there without an import; only a declaration or an import in the
// file makes them a use.
var (
	scriptBuiltin = words(`string number boolean any unknown never object symbol bigint undefined Array ArrayBuffer BigInt Boolean Buffer DataView Date Error Function Infinity Intl Iterator JSON
		Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set String Symbol SyntaxError
		TypeError URL URLSearchParams Uint8Array WeakMap WeakSet WeakRef AbortController AbortSignal arguments console
		document window global globalThis process require module exports setTimeout clearTimeout setInterval clearInterval
		setImmediate clearImmediate queueMicrotask structuredClone fetch parseInt parseFloat isNaN isFinite encodeURIComponent
		decodeURIComponent encodeURI decodeURI eval alert navigator location describe it test expect beforeEach afterEach
		beforeAll afterAll before after jest vi suite context assert of get set async type Partial Required Readonly Record
		Pick Omit Exclude Extract NonNullable Parameters ReturnType InstanceType Awaited ThisType __dirname __filename`)

	pythonBuiltin = words(`abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile
		complex delattr dict dir divmod enumerate eval exec filter float format frozenset getattr globals hasattr hash help
		hex id input int isinstance issubclass iter len list locals map max memoryview min next object oct open ord pow
		print property range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip
		__import__ __name__ __file__ NotImplemented Ellipsis ArithmeticError AssertionError AttributeError BaseException
		BlockingIOError BrokenPipeError BufferError ConnectionError EOFError Exception FileExistsError FileNotFoundError
		FloatingPointError GeneratorExit IOError ImportError IndentationError IndexError InterruptedError IsADirectoryError
		KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError
		NotImplementedError OSError OverflowError PermissionError ProcessLookupError RecursionError ReferenceError
		RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SystemError SystemExit TimeoutError
		TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UserWarning ValueError Warning
		DeprecationWarning FutureWarning ZeroDivisionError match case`)

	javaBuiltin = words(`String Object Integer Long Short Byte Character Boolean Double Float Number Math System Thread
		Runnable Iterable Comparable CharSequence StringBuilder StringBuffer Class Enum Record Void Throwable Exception
		RuntimeException Error IllegalArgumentException IllegalStateException NullPointerException IndexOutOfBoundsException
		UnsupportedOperationException ClassCastException ArithmeticException NumberFormatException InterruptedException
		CloneNotSupportedException ClassNotFoundException AutoCloseable Cloneable Override Deprecated SuppressWarnings
		FunctionalInterface SafeVarargs Map List Set Collection Collections Arrays Optional Iterator ArrayList
		LinkedList HashMap LinkedHashMap TreeMap HashSet Objects IOException File Files Path Paths InputStream OutputStream
		ConcurrentHashMap ThreadLocal StackTraceElement Process ProcessBuilder Runtime`)

	csharpBuiltin = words(`String Object Int32 Int64 Boolean Double Single Byte Char Decimal DateTime DateTimeOffset TimeSpan Guid
		Type Exception ArgumentException ArgumentNullException ArgumentOutOfRangeException InvalidOperationException
		NotImplementedException NotSupportedException NullReferenceException IndexOutOfRangeException FormatException
		ObjectDisposedException OperationCanceledException Console Math Convert Enum Array Attribute Nullable Func Action
		Predicate Tuple ValueTuple Lazy IDisposable IAsyncDisposable IEnumerable IEnumerator ICollection IList IDictionary
		IReadOnlyList IReadOnlyCollection IReadOnlyDictionary ISet List Dictionary HashSet Queue Stack KeyValuePair Task
		ValueTask CancellationToken CancellationTokenSource Span ReadOnlySpan Memory ReadOnlyMemory IComparable IEquatable
		ICloneable EventArgs EventHandler Environment GC Activator Random StringComparison StringBuilder Thread Interlocked
		Encoding Stream Regex Debug Obsolete Serializable Flags value get set init add remove record required file global`)

	rustBuiltin = words(`Some None Ok Err Option Result Vec String Box Rc Arc Cell RefCell Mutex RwLock HashMap HashSet BTreeMap BTreeSet
		VecDeque Cow Clone Copy Debug Default Display Drop Eq PartialEq Ord PartialOrd Hash Iterator IntoIterator
		ExactSizeIterator DoubleEndedIterator Extend FromIterator From Into TryFrom TryInto AsRef AsMut ToOwned ToString Send
		Sync Sized Unpin Fn FnMut FnOnce Pin Future PhantomData drop println print eprintln eprint format write writeln
		panic assert assert_eq assert_ne debug_assert debug_assert_eq debug_assert_ne unreachable unimplemented todo vec
		matches cfg env option_env include include_str include_bytes concat stringify line file column module_path
		compile_error dbg thread_local macro_rules derive test inline allow deny warn forbid doc must_use repr
		non_exhaustive automatically_derived cold track_caller std core alloc union auto default`)

	cBuiltin = words(`int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t ssize_t ptrdiff_t intptr_t uintptr_t
		off_t time_t wchar_t va_list FILE EOF int char void long short float double unsigned signed struct enum union
		static const extern printf fprintf sprintf snprintf vsnprintf vfprintf puts putchar malloc calloc realloc free
		memcpy memmove memset memcmp memchr strlen strcmp strncmp strcpy strncpy strcat strncat strchr strrchr strstr strdup
		strtol strtoul strtod atoi atof qsort bsearch abort exit assert offsetof va_start va_end va_arg va_copy isspace
		isdigit isalpha isalnum isupper islower tolower toupper fopen fclose fread fwrite fseek ftell fflush fgets fputs
		getenv stdin stdout stderr errno std __func__ __FILE__ __LINE__ UINT_MAX INT_MAX INT_MIN SIZE_MAX likely unlikely
		static_assert sizeof defined override final import module`)
)
