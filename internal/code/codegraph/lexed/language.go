package lexed

import (
	"fmt"
	"maps"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// family is a group of languages that share a reader.
type family uint8

const (
	script family = iota + 1 // JavaScript, TypeScript
	python
	java
	csharp
	rust
	cfamily
)

// language holds the properties of one language.
type language struct {
	name       string
	family     family
	types      bool // TypeScript
	tags       bool // JSX
	plusplus   bool // C++
	directives bool // preprocessor lines
	nested     bool // block comments nest
	keywords   map[string]bool
	builtin    map[string]bool // names that come with the language; using them is not a use
}

var (
	javascript = &language{name: "javascript", family: script, tags: true, keywords: scriptWords, builtin: scriptBuiltin}
	typescript = &language{name: "typescript", family: script, types: true, keywords: scriptWords, builtin: scriptBuiltin}
	tsx        = &language{name: "typescript", family: script, types: true, tags: true, keywords: scriptWords, builtin: scriptBuiltin}
	pythonLang = &language{name: "python", family: python, keywords: pythonWords, builtin: pythonBuiltin}
	javaLang   = &language{name: "java", family: java, keywords: javaWords, builtin: javaBuiltin}
	csharpLang = &language{name: "csharp", family: csharp, directives: true, keywords: csharpWords, builtin: csharpBuiltin}
	rustLang   = &language{name: "rust", family: rust, nested: true, keywords: rustWords, builtin: rustBuiltin}
	cLang      = &language{name: "c", family: cfamily, directives: true, keywords: cWords, builtin: cBuiltin}
	cppLang    = &language{name: "cpp", family: cfamily, plusplus: true, directives: true, keywords: cppWords, builtin: cBuiltin}
)

var languages = map[string]*language{
	".js": javascript, ".jsx": javascript, ".mjs": javascript, ".cjs": javascript,
	".ts": typescript, ".mts": typescript, ".cts": typescript, ".tsx": tsx,
	".py": pythonLang, ".pyi": pythonLang, ".pyw": pythonLang,
	".java": javaLang,
	".cs":   csharpLang,
	".rs":   rustLang,
	".c":    cLang,
	".h":    cppLang, // or C: see headerLanguage
	".cc":   cppLang, ".cpp": cppLang, ".cxx": cppLang, ".c++": cppLang,
	".hh": cppLang, ".hpp": cppLang, ".hxx": cppLang, ".h++": cppLang, ".ipp": cppLang, ".inl": cppLang, ".tcc": cppLang,
}

// Language returns the language of a file by its path, as in File.Language: "typescript", "javascript", "python",
// "java", "csharp", "rust", "c" or "cpp". It returns "" for a file that this package does not read. A file ending in .h
// is "cpp" here; Extract determines its language from the content.
func Language(file string) string {
	if l := byPath(file); l != nil {
		return l.name
	}
	return ""
}

func byPath(file string) *language { return languages[strings.ToLower(path.Ext(file))] }

// headerLanguage distinguishes C++ headers from those of C by words that C does not have.
func headerLanguage(toks []token, src string) *language {
	for i, t := range toks {
		if t.kind != word {
			if t.op == opPath {
				return cppLang
			}
			continue
		}
		switch src[t.start:t.end] {
		case "namespace", "template", "class", "constexpr", "nullptr", "virtual", "typename", "noexcept":
			return cppLang
		case "public", "private", "protected":
			if i+1 < len(toks) && toks[i+1].op == ':' {
				return cppLang
			}
		}
	}
	return cLang
}

// words makes a set of the words in a list that is separated by blanks.
func words(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// Extensions lists the extensions of the files that this package reads, in lower case with their dot, sorted.
func Extensions() []string { return slices.Sorted(maps.Keys(languages)) }

// chooseBranches removes branches of an #if that would leave brackets unbalanced. It keeps the first branch, or the
// second one if the first is "#if 0". If all branches are balanced, it keeps them all, since each is used on some
// system.
func (s *scanner) chooseBranches() {
	if len(s.directives) == 0 {
		return
	}
	n := len(s.toks)
	depth := make([]int32, n+1)
	for i, t := range s.toks {
		depth[i+1] = depth[i]
		switch {
		case opens(t.op):
			depth[i+1]++
		case closes(t.op):
			depth[i+1]--
		}
	}
	dead := make([]int32, n+1) // number of dead ranges that begin at a token, minus the number that end there
	found := false
	var open []branches
	for _, d := range s.directives {
		switch d.name {
		case "if", "ifdef", "ifndef":
			open = append(open, branches{skipFirst: d.name == "if" && d.rest == "0", at: []int32{d.tok}})
		case "elif", "else", "elifdef", "elifndef":
			if len(open) > 0 {
				b := &open[len(open)-1]
				b.at = append(b.at, d.tok)
			}
		case "endif":
			if len(open) == 0 {
				continue
			}
			b := open[len(open)-1]
			open = open[:len(open)-1]
			b.at = append(b.at, d.tok)
			found = b.cut(depth, dead) || found
		}
	}
	if found {
		s.remove(dead)
	}
}

// branches holds the first tokens of the branches of one #if, and the end of the last one.
type branches struct {
	skipFirst bool // the first branch is never taken: "#if 0"
	at        []int32
}

func (b branches) cut(depth, dead []int32) bool {
	keep, several := 0, len(b.at) > 2
	if b.skipFirst {
		keep = 1
	}
	unbalanced := func(at int32) bool { return depth[at] != depth[b.at[0]] }
	if !b.skipFirst && !(several && slices.ContainsFunc(b.at, unbalanced)) {
		return false
	}
	for k, next := range b.at[1:] {
		if k != keep && (k == 0 || several) {
			dead[b.at[k]]++
			dead[next]--
		}
	}
	return true
}

// remove removes the dead tokens and updates the token numbers in comments and directives.
func (s *scanner) remove(dead []int32) {
	place := make([]int32, len(s.toks)+1)
	kept, now := s.toks[:0], int32(0)
	for i, t := range s.toks {
		now += dead[i]
		place[i] = int32(len(kept))
		if now == 0 {
			kept = append(kept, t)
		}
	}
	place[len(s.toks)] = int32(len(kept))
	s.toks = kept
	for i := range s.comments {
		s.comments[i].tok = place[s.comments[i].tok]
	}
	for i := range s.directives {
		s.directives[i].tok = place[s.directives[i].tok]
	}
}

// splitMacro splits the text of a #define into the name, whether it takes arguments, and the body.
func splitMacro(rest string) (name string, function bool, body string) {
	end := strings.IndexFunc(rest, func(c rune) bool { return c < 0x80 && wordByte[c] == 0 && c != '$' })
	if end < 0 {
		end = len(rest)
	}
	name, rest = rest[:end], rest[end:]
	if function = strings.HasPrefix(rest, "("); function {
		if _, after, ok := strings.Cut(rest, ")"); ok {
			rest = after
		}
	}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") && strings.HasSuffix(rest, "*/") {
		rest = ""
	}
	return name, function, rest
}

// Keywords are words that are not names. Words that are keywords only in some places and are also used as names are
// left out.
var (
	scriptWords = words(`break case catch class const continue debugger default delete do else enum export extends false finally for
		function if import in instanceof new null return super switch this throw true try typeof var void while with let static yield
		await as satisfies implements interface keyof readonly infer asserts`)

	pythonWords = words(`False None True and as assert async await break class continue def del elif else except finally for from global
		if import in is lambda nonlocal not or pass raise return try while with yield`)

	javaWords = words(`abstract assert boolean break byte case catch char class const continue default do double else enum extends final
		finally float for goto if implements import instanceof int interface long native new null package private protected public
		return short static strictfp super switch synchronized this throw throws transient true false try void volatile while var yield`)

	csharpWords = words(`abstract as base bool break byte case catch char checked class const continue decimal default delegate do
		double else enum event explicit extern false finally fixed float for foreach goto if implicit in int interface internal is lock
		long namespace new null object operator out override params private protected public readonly ref return sbyte sealed short
		sizeof stackalloc static string struct switch this throw true try typeof uint ulong unchecked unsafe ushort using virtual void
		volatile while var dynamic nameof await async yield where when and or not nint nuint select orderby join equals into`)

	rustWords = words(`as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move
		mut pub ref return self Self static struct super trait true type unsafe use where while bool char str i8 i16 i32 i64 i128 isize
		u8 u16 u32 u64 u128 usize f32 f64`)

	cWords = words(`auto break case char const continue default do double else enum extern float for goto if inline int long register
		restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool _Alignas _Alignof
		_Atomic _Generic _Noreturn _Static_assert _Thread_local __attribute__ __inline __inline__ __restrict __extension__ __asm__ asm
		NULL true false bool typeof __typeof__ defined`)

	cppWords = words(`alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
		concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double
		dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not
		not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short signed sizeof static
		static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union unsigned using
		virtual void volatile wchar_t while xor xor_eq override final restrict __attribute__ __declspec __inline __restrict
		__extension__ NULL typeof __typeof__ defined`)
)

// Builtin names exist without an import. They are uses only if the file declares or imports them.
var (
	scriptBuiltin = words(`string number boolean any unknown never object symbol bigint undefined Array ArrayBuffer BigInt Boolean
		Buffer DataView Date Error Function Infinity Intl Iterator JSON Map Math NaN Number Object Promise Proxy RangeError
		ReferenceError Reflect RegExp Set String Symbol SyntaxError TypeError URL URLSearchParams Uint8Array WeakMap WeakSet WeakRef
		AbortController AbortSignal arguments console document window global globalThis process require module exports setTimeout
		clearTimeout setInterval clearInterval setImmediate clearImmediate queueMicrotask structuredClone fetch parseInt parseFloat
		isNaN isFinite encodeURIComponent decodeURIComponent encodeURI decodeURI eval alert navigator location describe it test expect
		beforeEach afterEach beforeAll afterAll before after jest vi suite context assert of get set async type Partial Required
		Readonly Record Pick Omit Exclude Extract NonNullable Parameters ReturnType InstanceType Awaited ThisType __dirname __filename`)

	pythonBuiltin = words(`abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex
		delattr dict dir divmod enumerate eval exec filter float format frozenset getattr globals hasattr hash help hex id input int
		isinstance issubclass iter len list locals map max memoryview min next object oct open ord pow print property range repr
		reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip __import__ __name__ __file__
		NotImplemented Ellipsis ArithmeticError AssertionError AttributeError BaseException BlockingIOError BrokenPipeError BufferError
		ConnectionError EOFError Exception FileExistsError FileNotFoundError FloatingPointError GeneratorExit IOError ImportError
		IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
		ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError OverflowError PermissionError ProcessLookupError
		RecursionError ReferenceError RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SystemError SystemExit
		TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UserWarning ValueError Warning
		DeprecationWarning FutureWarning ZeroDivisionError match case`)

	javaBuiltin = words(`String Object Integer Long Short Byte Character Boolean Double Float Number Math System Thread Runnable
		Iterable Comparable CharSequence StringBuilder StringBuffer Class Enum Record Void Throwable Exception RuntimeException Error
		IllegalArgumentException IllegalStateException NullPointerException IndexOutOfBoundsException UnsupportedOperationException
		ClassCastException ArithmeticException NumberFormatException InterruptedException CloneNotSupportedException
		ClassNotFoundException AutoCloseable Cloneable Override Deprecated SuppressWarnings FunctionalInterface SafeVarargs Map List Set
		Collection Collections Arrays Optional Iterator ArrayList LinkedList HashMap LinkedHashMap TreeMap HashSet Objects IOException
		File Files Path Paths InputStream OutputStream ConcurrentHashMap ThreadLocal StackTraceElement Process ProcessBuilder Runtime`)

	csharpBuiltin = words(`String Object Int32 Int64 Boolean Double Single Byte Char Decimal DateTime DateTimeOffset TimeSpan Guid Type
		Exception ArgumentException ArgumentNullException ArgumentOutOfRangeException InvalidOperationException NotImplementedException
		NotSupportedException NullReferenceException IndexOutOfRangeException FormatException ObjectDisposedException
		OperationCanceledException Console Math Convert Enum Array Attribute Nullable Func Action Predicate Tuple ValueTuple Lazy
		IDisposable IAsyncDisposable IEnumerable IEnumerator ICollection IList IDictionary IReadOnlyList IReadOnlyCollection
		IReadOnlyDictionary ISet List Dictionary HashSet Queue Stack KeyValuePair Task ValueTask CancellationToken
		CancellationTokenSource Span ReadOnlySpan Memory ReadOnlyMemory IComparable IEquatable ICloneable EventArgs EventHandler
		Environment GC Activator Random StringComparison StringBuilder Thread Interlocked Encoding Stream Regex Debug Obsolete
		Serializable Flags value get set init add remove record required file global`)

	rustBuiltin = words(`Some None Ok Err Option Result Vec String Box Rc Arc Cell RefCell Mutex RwLock HashMap HashSet BTreeMap
		BTreeSet VecDeque Cow Clone Copy Debug Default Display Drop Eq PartialEq Ord PartialOrd Hash Iterator IntoIterator
		ExactSizeIterator DoubleEndedIterator Extend FromIterator From Into TryFrom TryInto AsRef AsMut ToOwned ToString Send Sync Sized
		Unpin Fn FnMut FnOnce Pin Future PhantomData drop println print eprintln eprint format write writeln panic assert assert_eq
		assert_ne debug_assert debug_assert_eq debug_assert_ne unreachable unimplemented todo vec matches cfg env option_env include
		include_str include_bytes concat stringify line file column module_path compile_error dbg thread_local macro_rules derive test
		inline allow deny warn forbid doc must_use repr non_exhaustive automatically_derived cold track_caller std core alloc union auto
		default`)

	cBuiltin = words(`int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t ssize_t ptrdiff_t intptr_t uintptr_t
		off_t time_t wchar_t va_list FILE EOF int char void long short float double unsigned signed struct enum union static const
		extern printf fprintf sprintf snprintf vsnprintf vfprintf puts putchar malloc calloc realloc free memcpy memmove memset memcmp
		memchr strlen strcmp strncmp strcpy strncpy strcat strncat strchr strrchr strstr strdup strtol strtoul strtod atoi atof qsort
		bsearch abort exit assert offsetof va_start va_end va_arg va_copy isspace isdigit isalpha isalnum isupper islower tolower
		toupper fopen fclose fread fwrite fseek ftell fflush fgets fputs getenv stdin stdout stderr errno std __func__ __FILE__ __LINE__
		UINT_MAX INT_MAX INT_MIN SIZE_MAX likely unlikely static_assert sizeof defined override final import module`)
)

// Options describes the repository. With the zero value each file is read on its own, and imports are resolved by their
// text alone.
type Options struct {
	// Files are the paths of the repository's files, from its root, with slashes. They are needed to resolve "./util"
	// to src/util.ts, "shop.cart" to a module of Python, and "list.h" to a file in a folder for headers.
	Files []string

	// Read returns the content of one of Files; at most 1 MiB of it is used. New reads settings with it: tsconfig.json
	// and jsconfig.json (baseUrl, paths, extends), package.json (names in a workspace) and Cargo.toml (names of
	// crates). A file that can't be read is ignored. With nil, no settings are read.
	Read func(path string) ([]byte, error)
}

// Set reads files in all languages of this package. It is immutable and safe for concurrent use. Make a new one when
// files are added or removed, or when a setting changes.
type Set struct {
	files   map[string]bool
	known   bool // Options.Files was not empty
	scripts *scriptPaths
	python  *pythonPaths
	rust    *rustPaths
	headers map[string][]string // paths of headers by their last element
}

// New makes a Set from the names of the files and the settings of their build tools. It takes about 0.1 s for 100,000
// files.
func New(opt Options) *Set {
	s := &Set{files: make(map[string]bool, len(opt.Files)), known: len(opt.Files) > 0, headers: map[string][]string{}}
	for _, f := range opt.Files {
		s.files[f] = true
		if l := byPath(f); l != nil && l.family == cfamily {
			s.headers[path.Base(f)] = append(s.headers[path.Base(f)], f)
		}
	}
	read := func(string) string { return "" }
	if opt.Read != nil {
		read = func(p string) string {
			b, err := opt.Read(p)
			if err != nil {
				return ""
			}
			return strings.TrimPrefix(string(b[:min(len(b), 1<<20)]), "\ufeff")
		}
	}
	s.scripts = newScriptPaths(s.files, opt.Files, read)
	s.python = newPythonPaths(opt.Files)
	s.rust = newRustPaths(opt.Files, read)
	return s
}

// Extract reads one file; it is a codegraph.Extractor. A file whose Language is empty yields a Problem and nothing
// else. The time is linear in the file's size: about a second for 20 MB. It allocates 25 to 40 times the size, most of
// which is garbage once it returns.
func (s *Set) Extract(file string, src []byte) codegraph.File {
	lang := byPath(file)
	if lang == nil {
		return codegraph.File{Path: file, Problems: []codegraph.Problem{{Text: "no language known for " + path.Ext(file)}}}
	}
	f := codegraph.File{Path: file, Language: lang.name, Test: testFile(file, lang)}
	src0, problem := decode(file, src, lang)
	if problem != nil {
		f.Generated = generated(file, string(src[:min(len(src), 4096)]))
		f.Problems = []codegraph.Problem{*problem}
		return f
	}
	f.Generated = generated(file, src0)
	s.extract(&f, src0, lang)
	return f
}

// extract fills in f from the text. If a reader panics, the file keeps what was found before.
func (s *Set) extract(f *codegraph.File, src string, lang *language) {
	sc := scan(src, lang)
	if strings.EqualFold(path.Ext(f.Path), ".h") {
		lang = headerLanguage(sc.toks, src)
		f.Language = lang.name
	}
	sc.chooseBranches()
	r := &reader{set: s, lang: lang, src: src, file: f, toks: sc.toks, flags: make([]tokenFlag, len(sc.toks)), comments: sc.comments, dirs: sc.directives,
		declared: map[string]int{}, names: map[string]name{}, strings: map[string]string{}}
	for _, p := range sc.problems {
		r.problem(p.Line, p.Text)
	}
	if line := pairBrackets(r.toks, src, lang); line > 0 {
		r.problem(line, "brackets do not fit together from here on")
	}
	defer func() {
		if v := recover(); v != nil {
			if strict {
				panic(fmt.Sprintf("%v\n%s", v, debug.Stack()))
			}
			r.problem(0, fmt.Sprintf("the file was read in part: %v", v))
		}
	}()
	switch lang.family {
	case script:
		r.script()
	case python:
		r.python()
	case java, csharp:
		r.classes()
	case rust:
		r.rust()
	case cfamily:
		r.c()
	}
	r.uses()
	r.testUses()
}

// strict turns off the recovery from panics of a reader, for tests.
var strict bool
