package lexed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkExtract reads about 500 lines of each language, from the golden files. MB/s times 3 is about the number of
// thousand lines in a tenth of a second.
func BenchmarkExtract(b *testing.B) {
	set := goldenSet()
	for _, name := range []string{"cart.ts", "view.tsx", "client.js", "shop.py", "Cart.java", "Cart.cs", "cart.rs", "cart.c", "shelf.hpp"} {
		src, err := os.ReadFile(filepath.Join("testdata/golden", name))
		if err != nil {
			b.Fatal(err)
		}
		src = []byte(strings.Repeat(string(src)+"\n", 5))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if f := set.Extract(goldenFiles[name], src); len(f.Decls) == 0 {
					b.Fatal("nothing found")
				}
			}
		})
	}
}

// BenchmarkNew makes a Set for 100,000 files.
func BenchmarkNew(b *testing.B) {
	var files []string
	for _, dir := range []string{"a", "b", "c", "d"} {
		for i := range 25_000 {
			ext := extensions[i%len(extensions)]
			files = append(files, "src/"+dir+"/m"+string(rune('a'+i%26))+"/f"+strings.Repeat("x", i%7)+string(rune('a'+i/26%26))+string(rune('a'+i/676))+ext)
		}
	}
	for b.Loop() {
		New(Options{Files: files})
	}
}
