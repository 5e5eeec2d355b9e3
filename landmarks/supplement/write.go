package supplement

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"anatomy/geom/tree"
	"anatomy/landmarks/internal/replace"
	"anatomy/landmarks/morpho"
	"anatomy/viz"
)

// Version is that of the program.
const Version = "0.1.0"

func software() string { return "anatomy " + Version + " with " + runtime.Version() }

// record is what a document is made again from.
type record struct {
	Question
	Name   string `json:"name"`
	Unit   string `json:"unit,omitempty"`
	Closed bool   `json:"closed,omitempty"`

	data *morpho.Dataset
}

// Names of the files of a document's folder.
const (
	pageFile     = "index.html"
	questionFile = "question.json"
	dataFile     = "data/landmarks.csv"
	crateFile    = "ro-crate-metadata.json"
)

// Write writes a document to a folder, which it makes, or to an archive if the name ends with .zip: the page index.html, tables/*.csv, figures/*.svg,
// *.pdf and *.png, the landmarks with the covariates, data/landmarks.csv, and the question. The folder is a Research Object Crate (version 1.1), whose
// ro-crate-metadata.json has the checksums of all files. Equal questions about equal data give equal files.
//
// It is an error if the folder holds anything else but an earlier document, or if the archive is there.
func (d *Document) Write(to string) error {
	written, err := d.files()
	if err == nil && strings.EqualFold(filepath.Ext(to), ".zip") {
		err = writeArchive(to, written)
	} else if err == nil {
		err = writeFolder(to, written)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	return nil
}

// files are all files of the document by their names.
func (d *Document) files() (map[string][]byte, error) {
	written := map[string][]byte{}
	for _, f := range d.Figures() {
		for _, extension := range []string{".svg", ".pdf", ".png"} {
			data, err := viz.Encode(extension, f.Drawing)
			if err != nil {
				return nil, err
			}
			written["figures/"+f.Name+extension] = data
		}
	}
	for _, t := range d.Tables() {
		written["tables/"+t.Name+".csv"] = t.CSV()
	}
	var data bytes.Buffer
	if err := morpho.WriteCSV(&data, d.record.data); err != nil {
		return nil, err
	}
	written[dataFile] = data.Bytes()
	question, err := json.MarshalIndent(d.record, "", "  ")
	if err != nil {
		return nil, err
	}
	written[questionFile] = append(question, '\n')
	page, err := d.page(func(f *Figure) template.HTML { return template.HTML(inline(written["figures/"+f.Name+".svg"])) })
	if err != nil {
		return nil, err
	}
	written[pageFile] = page
	written[crateFile], err = d.crate(written)
	return written, err
}

// sortedNames are the names of files.
func sortedNames(files map[string][]byte) []string { return slices.Sorted(maps.Keys(files)) }

func writeFolder(folder string, files map[string][]byte) error {
	if err := checkFolder(folder); err != nil {
		return err
	}
	for _, name := range sortedNames(files) {
		to := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if err := replace.File(to, func(w io.Writer) error { _, err := w.Write(files[name]); return err }); err != nil {
			return err
		}
	}
	return nil
}

func writeArchive(path string, files map[string][]byte) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, errors.New("it is there already: name another file"))
	}
	return replace.File(path, func(w io.Writer) error {
		archive := zip.NewWriter(w)
		for _, name := range sortedNames(files) {
			f, err := archive.Create(name)
			if err != nil {
				return err
			}
			if _, err := f.Write(files[name]); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

// checkFolder returns an error if a folder is there that holds other things than a document.
func checkFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains([]string{pageFile, questionFile, crateFile, "data", "figures", "tables"}, e.Name()) {
			return fmt.Errorf("it holds other files, such as %s: name a new folder", e.Name())
		}
	}
	return nil
}

// prolog is what stands before the element of an SVG file, and has no place in a page.
var prolog = regexp.MustCompile(`(?s)^.*?(<svg)`)

func inline(svg []byte) []byte { return prolog.ReplaceAll(svg, []byte("$1")) }

// CSV returns the table as comma-separated values.
func (t *Table) CSV() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(t.Header) // to memory
	_ = w.WriteAll(t.Rows)
	return b.Bytes()
}

//go:embed page.html
var pages embed.FS

// page is the document as one HTML file that needs no other.
func (d *Document) page(figure func(*Figure) template.HTML) ([]byte, error) {
	numberOf := map[Part]int{}
	figures, tables := 0, 0
	for _, s := range d.Sections {
		for _, p := range s.Parts {
			switch p.(type) {
			case *Figure:
				figures++
				numberOf[p] = figures
			case *Table:
				tables++
				numberOf[p] = tables
			}
		}
	}
	t, err := template.New("page.html").Funcs(template.FuncMap{
		"kind": func(p Part) string {
			switch p.(type) {
			case Paragraph:
				return "paragraph"
			case List:
				return "list"
			case *Table:
				return "table"
			}
			return "figure"
		},
		"number": func(p Part) int { return numberOf[p] },
		"wide": func(f *Figure) bool {
			_, is := f.Drawing.(*viz.Panels)
			return is
		},
		"drawing": figure,
		"authors": func() string { return strings.Join(d.Authors, ", ") },
		"anchor":  func(i int) string { return fmt.Sprintf("section-%d", i+1) },
		"software": func() string {
			return software()
		},
	}).ParseFS(pages, "page.html")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, d); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// crate is the metadata of the folder by the RO-Crate specification, version 1.1.
func (d *Document) crate(files map[string][]byte) ([]byte, error) {
	type entity map[string]any
	ref := func(id string) entity { return entity{"@id": id} }
	names := sortedNames(files)
	var parts, results []entity
	var all []entity
	for _, name := range names {
		parts = append(parts, ref(name))
		if name != dataFile && name != questionFile {
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
		{"@id": "#anatomy", "@type": "SoftwareApplication", "name": "anatomy", "softwareVersion": Version, "softwareRequirements": runtime.Version()},
		{"@id": "#run", "@type": "CreateAction", "name": "anatomy repeat", "instrument": ref("#anatomy"), "object": []entity{ref(dataFile), ref(questionFile)}, "result": results},
	}, all...)
	out, err := json.MarshalIndent(map[string]any{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}, "", "  ")
	return append(out, '\n'), err
}

// formats are the media types of the files.
var formats = map[string]string{".html": "text/html", ".json": "application/json", ".csv": "text/csv", ".svg": "image/svg+xml", ".pdf": "application/pdf", ".png": "image/png"}

// Open reads the data and the question of a folder that Write wrote, so that New can answer it again, or another one. It is an error if a file is
// not as it was written.
func Open(folder string) (*morpho.Dataset, Question, error) {
	d, q, err := open(folder)
	if err != nil {
		return nil, Question{}, fmt.Errorf("%s: %w", folder, err)
	}
	return d, q, nil
}

func open(folder string) (*morpho.Dataset, Question, error) {
	var crate struct {
		Graph []struct {
			ID     string `json:"@id"`
			SHA256 string `json:"sha256"`
		} `json:"@graph"`
	}
	read := func(name string, into any) error {
		data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		return json.Unmarshal(data, into)
	}
	var r record
	if err := errors.Join(read(crateFile, &crate), read(questionFile, &r)); err != nil {
		return nil, Question{}, err
	}
	for _, e := range crate.Graph {
		if e.SHA256 == "" {
			continue
		}
		if !filepath.IsLocal(filepath.FromSlash(e.ID)) {
			return nil, Question{}, fmt.Errorf("%s names the file %s, which is not in the folder", crateFile, e.ID)
		}
		data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(e.ID)))
		if err != nil {
			return nil, Question{}, err
		}
		if fmt.Sprintf("%x", sha256.Sum256(data)) != e.SHA256 {
			return nil, Question{}, fmt.Errorf("%s was changed since it was written", e.ID)
		}
	}
	d, err := morpho.Read(filepath.Join(folder, filepath.FromSlash(dataFile)))
	if err != nil {
		return nil, Question{}, err
	}
	if r.Tree != "" {
		if _, err := tree.Parse(r.Tree); err != nil {
			return nil, Question{}, err
		}
	}
	d.Name, d.Unit, d.Closed = r.Name, r.Unit, r.Closed
	return d, r.Question, nil
}
