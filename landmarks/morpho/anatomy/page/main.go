// Command page makes one HTML file of the program anatomy, compiled for a browser, and the page that runs it: `make page`.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"

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
	wasm, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	exec, err := os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(wasm); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	part := func(name string) string {
		data, err := sources.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		return string(data)
	}
	page := strings.NewReplacer("@memory.js@", part("memory.js"), "@worker.js@", part("worker.js"), "@wasm_exec.js@", string(exec),
		"@program@", base64.StdEncoding.EncodeToString(packed.Bytes())).Replace(form(part("index.html")))
	return os.WriteFile(out, []byte(page), 0o666)
}

// form puts the fields of all questions into a page: where it has @NAME@ that of the name, and the others, of the two parts of the work, where it has
// @read@ and @ask@.
func form(page string) string {
	others := map[string]string{}
	for _, i := range supplement.Questions {
		mark := "@" + i.Name + "@"
		switch {
		case !i.Everywhere():
		case strings.Contains(page, mark):
			page = strings.Replace(page, mark, field(i), 1)
		case i.Step <= supplement.ToCorrect:
			others["@read@"] += field(i)
		default:
			others["@ask@"] += field(i)
		}
	}
	return strings.NewReplacer("@read@", others["@read@"], "@ask@", others["@ask@"]).Replace(page)
}

// field is a label with the field of a question. Those that are data-read change what a look at the data shows.
func field(i supplement.Item) string {
	title := strings.ReplaceAll(strings.ToUpper(i.Name[:1])+i.Name[1:], "-", " ")
	about, named := "<b>"+title+"</b>: "+html.EscapeString(i.About), fmt.Sprintf(`id="%s" data-flag="%[1]s"`, i.Name)
	if i.Step <= supplement.ToCorrect {
		named += " data-read"
	}
	switch i.Kind() {
	case "bool":
		return fmt.Sprintf("<label><input type=\"checkbox\" %s> %s</label>\n", named, about)
	case "file":
		return fmt.Sprintf("<label>%s <input type=\"file\" %s></label>\n", about, named)
	case "choice":
		options := fmt.Sprintf(`<option value="">%s</option>`, i.Usual())
		for _, v := range i.Values {
			if v != i.Usual() {
				options += "<option>" + v + "</option>"
			}
		}
		return fmt.Sprintf("<label>%s <select %s>%s</select></label>\n", about, named, options)
	}
	hint := html.EscapeString(cmp.Or(i.Usual(), i.Example))
	return fmt.Sprintf("<label>%s <input type=\"text\" %s placeholder=\"%s\" autocapitalize=\"off\" spellcheck=\"false\"></label>\n", about, named, hint)
}
