package supplement

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"anatomy"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/geom/watch"
	"anatomy/internal/input"
	"anatomy/internal/replace"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/viz"
)

// Software names the program with which a document is computed.
func Software() string { return "anatomy " + anatomy.Version + " with " + runtime.Version() }

// record is what a document is made again from.
type record struct {
	Question
	Of morpho.Dataset `json:"data"` // without its specimens, which are in a file of their own

	data *morpho.Dataset
}

// Names of the files of a document's folder.
const (
	pageFile     = "index.html"
	questionFile = "question.json"
	dataFile     = "data/landmarks.csv"
	meshFile     = "data/mesh.ply"
	crateFile    = "ro-crate-metadata.json"
)

// Write writes a document to folders, which it makes, and to archives, whose names end with .zip: the page index.html, tables/*.csv, figures/*.svg,
// *.pdf and *.png, *.html of those that turn, the landmarks with the covariates, data/landmarks.csv, the mesh, if any, and the question. The folder is a Research Object Crate
// (version 1.1), whose ro-crate-metadata.json has the checksums of all files. Equal questions about equal data give equal files.
//
// A folder is written beside the earlier one, as folder.new.tmp, and takes its place in the end: an error, or an end of the program, leaves the
// earlier document as it was. It is an error if a folder holds anything else but an earlier document, or if an archive is there.
func (d *Document) Write(to ...string) (err error) {
	defer try.Catch(&err)
	written := d.files()
	for _, to := range to {
		write := writeFolder
		if strings.EqualFold(filepath.Ext(to), ".zip") {
			write = writeArchive
		}
		try.Do(try.Name(try.Run(func() { write(to, written) }), "%s", to))
	}
	return nil
}

// files are all files of the document by their names.
func (d *Document) files() map[string][]byte {
	written, figures := map[string][]byte{}, d.Figures()
	task := watch.Begin("figures", nil, nil)
	defer task.End()
	for k, f := range figures {
		task.Report(watch.Progress{Iteration: k, Total: len(figures)})
		for _, extension := range []string{".svg", ".pdf", ".png"} {
			written["figures/"+f.Name+extension] = try.Get(viz.Encode(extension, f.Drawing))
		}
		if page, err := viz.Encode(".html", f.Drawing); err == nil { // a figure in space
			written["figures/"+f.Name+".html"], f.turns = page, true
		}
	}
	for _, t := range d.Tables() {
		written["tables/"+t.Name+".csv"] = t.CSV()
	}
	if d.record.data != nil {
		var data bytes.Buffer
		try.Do(morpho.WriteCSV(&data, d.record.data))
		written[dataFile] = data.Bytes()
	}
	if m := d.record.Mesh; m != nil {
		var surface bytes.Buffer
		try.Do(mesh.WritePLY(&surface, m))
		written[meshFile] = surface.Bytes()
	}
	question := try.Get(json.MarshalIndent(d.record, "", "  "))
	written[questionFile] = append(question, '\n')
	written[pageFile] = d.page(func(f *Figure) template.HTML { return template.HTML(inline(written["figures/"+f.Name+".svg"])) })
	written[crateFile] = d.crate(written)
	return written
}

// sortedNames are the names of files.
func sortedNames(files map[string][]byte) []string { return slices.Sorted(maps.Keys(files)) }

func writeFolder(folder string, files map[string][]byte) {
	folder = try.Get(filepath.Abs(folder))
	if link, err := filepath.EvalSymlinks(folder); err == nil {
		folder = link
	} else if _, err := os.Lstat(folder); err == nil {
		try.Do(errors.New("it is a link to nothing: remove it, or name another folder"))
	}
	if here, err := os.Getwd(); err == nil && here == folder {
		try.Do(errors.New("it is the folder that you are in: name another one"))
	}
	beside, before := folder+".new.tmp", folder+".old.tmp"
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		_ = os.Rename(before, folder) // a run before ended between the two renames below
	}
	for _, f := range []string{folder, beside, before} {
		checkFolder(f)
	}
	try.Do(errors.Join(os.RemoveAll(beside), os.RemoveAll(before)))
	defer os.RemoveAll(beside)
	for _, name := range sortedNames(files) {
		to := filepath.Join(beside, filepath.FromSlash(name))
		try.Do(os.MkdirAll(filepath.Dir(to), 0o777))
		try.Do(replace.File(to, func(w io.Writer) error { _, err := w.Write(files[name]); return err }))
	}
	if err := os.Rename(folder, before); !errors.Is(err, os.ErrNotExist) {
		try.Do(err)
	}
	try.Do(os.Rename(beside, folder))
	try.Do(os.RemoveAll(before))
}

func writeArchive(path string, files map[string][]byte) {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		try.Do(errors.Join(err, errors.New("it is there already: name another file")))
	}
	try.Do(replace.File(path, func(w io.Writer) error {
		return try.Run(func() {
			archive := zip.NewWriter(w)
			for _, name := range sortedNames(files) {
				try.Get(try.Get(archive.Create(name)).Write(files[name]))
			}
			try.Do(archive.Close())
		})
	}))
}

// checkFolder ends the writing if a folder is there that holds other things than a document.
func checkFolder(folder string) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	try.Do(err)
	own := []string{pageFile, questionFile, crateFile, "data", "figures", "tables"}
	for _, e := range entries {
		try.FailIf(!slices.Contains(own, replace.Name(e.Name())), "%s holds other files, such as %s: name a new folder",
			filepath.Base(folder), e.Name())
	}
}

// prolog is what stands before the element of an SVG file, and has no place in a page.
var prolog = regexp.MustCompile(`(?s)^.*?(<svg)`)

func inline(svg []byte) []byte { return prolog.ReplaceAll(svg, []byte("$1")) }

//go:embed page.html
var pages embed.FS

// page is the document as one HTML file that needs no other.
func (d *Document) page(figure func(*Figure) template.HTML) []byte {
	figures, tables := d.Figures(), d.Tables()
	t := template.Must(template.New("page.html").Funcs(template.FuncMap{
		"kind": func(p Part) string {
			return strings.ToLower(reflect.Indirect(reflect.ValueOf(p)).Type().Name())
		},
		"number": func(p Part) int {
			if t, is := p.(*Table); is {
				return 1 + slices.Index(tables, t)
			}
			return 1 + slices.Index(figures, p.(*Figure))
		},
		"cells": (*Table).cells,
		"wide": func(f *Figure) bool {
			_, is := f.Drawing.(*viz.Panels)
			return is
		},
		"drawing":  figure,
		"turns":    func(f *Figure) bool { return f.turns },
		"authors":  func() string { return strings.Join(d.Authors, ", ") },
		"anchor":   func(i int) string { return fmt.Sprintf("section-%d", i+1) },
		"software": Software,
		"again":    func() bool { return d.again },
	}).ParseFS(pages, "page.html"))
	var b bytes.Buffer
	try.Do(t.Execute(&b, d))
	return []byte(input.Printable(b.String()))
}

// crate is the metadata of the folder by the RO-Crate specification, version 1.1.
func (d *Document) crate(files map[string][]byte) []byte {
	type entity map[string]any
	ref := func(id string) entity { return entity{"@id": id} }
	names := sortedNames(files)
	var parts, objects, results []entity
	var all []entity
	for _, name := range names {
		parts = append(parts, ref(name))
		if name == dataFile || name == questionFile || name == meshFile {
			objects = append(objects, ref(name))
		} else {
			results = append(results, ref(name))
		}
		all = append(all, entity{"@id": name, "@type": "File", "encodingFormat": formats[path.Ext(name)], "contentSize": fmt.Sprint(len(files[name])), "sha256": fmt.Sprintf("%x", sha256.Sum256(files[name]))})
	}
	root := entity{"@id": "./", "@type": "Dataset", "name": d.Title, "description": "Statistics of shapes: " + d.Title, "hasPart": parts, "mentions": ref("#run")}
	var people []entity
	for _, author := range d.Authors {
		id := "#" + strings.ReplaceAll(author, " ", "-")
		people = append(people, ref(id))
		all = append(all, entity{"@id": id, "@type": "Person", "name": author})
	}
	if people != nil {
		root["author"] = people
	}
	graph := append([]entity{
		{"@id": crateFile, "@type": "CreativeWork", "conformsTo": ref("https://w3id.org/ro/crate/1.1"), "about": ref("./")},
		root,
		{"@id": "#anatomy", "@type": "SoftwareApplication", "name": "anatomy", "softwareVersion": anatomy.Version, "softwareRequirements": runtime.Version()},
		{"@id": "#run", "@type": "CreateAction", "name": "anatomy repeat", "instrument": ref("#anatomy"), "object": objects, "result": results},
	}, all...)
	return append(try.Get(json.MarshalIndent(map[string]any{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}, "", "  ")), '\n')
}

// formats are the media types of the files.
var formats = map[string]string{".html": "text/html", ".json": "application/json", ".csv": "text/csv", ".svg": "image/svg+xml", ".pdf": "application/pdf", ".png": "image/png", ".ply": "application/ply"}

// Open reads the data, nil for a mesh alone, and the question of a folder that Write wrote, so that New can answer it again, or another one. It is an
// error if a file is not as it was written.
func Open(folder string) (d *morpho.Dataset, q Question, err error) {
	if err := try.Run(func() { d, q = open(folder) }); err != nil {
		return nil, Question{}, fmt.Errorf("%s: %w", folder, err)
	}
	return d, q, nil
}

func open(folder string) (*morpho.Dataset, Question) {
	var crate struct {
		Graph []struct {
			ID     string `json:"@id"`
			SHA256 string `json:"sha256"`
		} `json:"@graph"`
	}
	within := new(input.Budget)
	read := func(name string) []byte {
		return try.Get(input.ReadFile(filepath.Join(folder, filepath.FromSlash(name)), within))
	}
	var r record
	try.Do(errors.Join(within.JSON(read(crateFile), &crate), within.JSON(read(questionFile), &r)))
	seen := map[string]bool{}
	for _, e := range crate.Graph {
		if e.SHA256 == "" {
			continue
		}
		try.FailIf(seen[e.ID], "%s names %s twice", crateFile, clip(e.ID))
		seen[e.ID] = true
		try.FailIf(!filepath.IsLocal(filepath.FromSlash(e.ID)), "%s names the file %s, which is not in the folder", crateFile, clip(e.ID))
		try.FailIf(fmt.Sprintf("%x", sha256.Sum256(read(e.ID))) != e.SHA256, "%s was changed since it was written", clip(e.ID))
	}
	needed := []string{dataFile, questionFile}
	switch {
	case !seen[dataFile] && seen[meshFile]: // a mesh alone
		needed = []string{questionFile, meshFile}
	case r.Surface != "":
		needed = append(needed, meshFile)
	}
	for _, name := range needed {
		try.FailIf(!seen[name], "%s has no checksum of %s: this is no report, or was changed", crateFile, name)
	}
	at := func(name string) string { return filepath.Join(folder, filepath.FromSlash(name)) }
	if slices.Contains(needed, meshFile) {
		r.Mesh, r.Question.Unit = try.Get(mesh.Read(at(meshFile))), r.Of.Unit
	}
	if !slices.Contains(needed, dataFile) {
		return nil, r.Question
	}
	d := try.Get(morpho.Read(at(dataFile)))
	for _, t := range append(r.Trees, r.Tree) {
		if t != "" {
			try.Get(tree.Parse(t))
		}
	}
	chains := r.Of.Sliders
	for _, l := range r.Of.Links {
		chains = append(chains, [3]int{l[0], l[1], l[0]})
	}
	for _, l := range chains {
		try.FailIf(slices.Min(l[:]) < 0 || slices.Max(l[:]) >= len(d.Specimens[0].Points),
			"%s: sliders or links %v name landmarks that are not there", questionFile, l)
	}
	r.Of.Specimens, r.Of.Source = d.Specimens, d.Source
	return &r.Of, r.Question
}
