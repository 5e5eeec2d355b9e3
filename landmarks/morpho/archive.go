package morpho

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anatomy/internal/replace"
	"anatomy/landmarks/internal/text"
)

const (
	archive     = ".zip"
	archiveMost = 1 << 30 // bytes that an archive may unpack to
)

// writeArchive writes a file for each specimen, of its name, in the format that stands before .zip.
func writeArchive(path string, d *Dataset) error {
	inner := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), archive)
	at := slices.IndexFunc(fileFormats, func(f fileFormat) bool {
		return f.write != nil && slices.ContainsFunc(f.extensions, func(e string) bool { return strings.HasSuffix(inner, e) })
	})
	if at < 0 {
		return fmt.Errorf("%s: %w", path, text.Advise("write it before, as skulls.mrk.json.zip", "an archive whose name tells no format of the files in it"))
	}
	f := fileFormats[at]
	extension := f.extensions[slices.IndexFunc(f.extensions, func(e string) bool { return strings.HasSuffix(inner, e) })]
	if extension == ".json" {
		extension = ".mrk.json"
	}
	if err := d.checkWritable(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, s := range d.Specimens {
		switch lower := strings.ToLower(s.Name); {
		case strings.ContainsAny(s.Name, `/\:*?"<>|`) || strings.HasPrefix(s.Name, "."):
			return fmt.Errorf("%s: %w", path, text.Advise("rename it", "the name %s of a specimen is no name of a file", text.Clip(s.Name)))
		case seen[lower]:
			return fmt.Errorf("%s: %w", path, text.Advise("give each a name of its own", "two specimens %s would be one file", text.Clip(s.Name)))
		default:
			seen[lower] = true
		}
	}
	return replace.File(path, func(w io.Writer) error {
		out := zip.NewWriter(w)
		for _, s := range d.Specimens {
			one := *d
			one.Specimens = []Specimen{s}
			in, err := out.Create(s.Name + extension)
			if err != nil {
				return err
			}
			if err := f.write(in, &one); err != nil {
				return err
			}
		}
		return out.Close()
	})
}

// readArchive reads the files of an archive as those of a folder, or the one file that there is as a file.
func readArchive(path string) (*Dataset, error) {
	in, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, text.Advise("the file may have been cut off: save it again", "%w", err))
	}
	defer in.Close()
	folder, err := os.MkdirTemp("", "landmarks-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	var files []string
	left := int64(archiveMost)
	for _, f := range in.File {
		name := filepath.Base(filepath.FromSlash(f.Name))
		if strings.HasSuffix(f.Name, "/") || strings.HasPrefix(name, ".") || strings.HasPrefix(f.Name, "__MACOSX/") {
			continue
		}
		if slices.Contains(files, name) {
			return nil, fmt.Errorf("%s: %w", path, text.Advise("give each a name of its own", "two files %s", text.Clip(name)))
		}
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, text.Clip(name), err)
		}
		var content bytes.Buffer
		n, err := io.Copy(&content, io.LimitReader(r, left+1))
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, text.Clip(name), err)
		}
		if left -= n; left < 0 {
			return nil, fmt.Errorf("%s: %w", path, text.Advise("unpack it, and read the folder", "it unpacks to more than %d bytes", archiveMost))
		}
		if err := os.WriteFile(filepath.Join(folder, name), content.Bytes(), 0o600); err != nil {
			return nil, err
		}
		files = append(files, name)
	}
	var d *Dataset
	if len(files) == 1 {
		d, err = readFile(filepath.Join(folder, files[0]))
	} else {
		d, err = readFolder(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("%s", strings.ReplaceAll(err.Error(), folder, path))
	}
	d.Name, d.Source = stem(strings.TrimSuffix(path, filepath.Ext(path))+".x"), path
	return d, nil
}
