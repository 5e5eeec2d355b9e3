// Command page makes one HTML file of the program anatomy, compiled for a browser, and the page that runs it: `make page`.
package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"anatomy/geom/try"
	"anatomy/landmarks/morpho/supplement"
)

//go:embed index.html memory.js worker.js
var sources embed.FS

func main() {
	program := flag.String("program", "", "anatomy, built for js/wasm")
	root := flag.String("goroot", "", "folder of Go, as go env GOROOT says")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if err := bundle(*program, *root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func bundle(program, root, out string) error {
	return try.Run(func() {
		var packed bytes.Buffer
		w := try.Get(gzip.NewWriterLevel(&packed, gzip.BestCompression))
		try.Get(w.Write(try.Get(os.ReadFile(program))))
		try.Do(w.Close())
		part := func(name string) string { return string(try.Get(sources.ReadFile(name))) }
		exec := try.Get(os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js")))
		page := strings.NewReplacer("@memory.js@", part("memory.js"), "@worker.js@", part("worker.js"), "@wasm_exec.js@", string(exec),
			"@program@", base64.StdEncoding.EncodeToString(packed.Bytes())).Replace(form(part("index.html")))
		try.Do(os.WriteFile(out, []byte(page), 0o666))
	})
}

// form puts the fields of all questions into a page.
func form(page string) string {
	var b strings.Builder
	words := func(name string) string { return strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " ") }
	t := template.Must(template.New("page").Funcs(template.FuncMap{"words": words}).Parse(page))
	if err := t.Execute(&b, supplement.Questions); err != nil {
		panic(err) // of a page that is embedded
	}
	return b.String()
}
