// Package markup reads XML that others have written.
package markup

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding/charmap"

	"anatomy/internal/input"
	"anatomy/landmarks/internal/text"
)

// Parse reads the XML of a file of this name into doc, within the budget of the file.
func Parse(markup []byte, name string, doc any, within *input.Budget) error {
	if err := within.Elements(bytes.Count(markup, []byte("="))); err != nil { // attributes, before they are read
		return fmt.Errorf("%s: %w", name, err)
	}
	in := &shallow{Decoder: xml.NewDecoder(bytes.NewReader(markup)), within: within}
	in.CharsetReader = func(label string, input io.Reader) (io.Reader, error) {
		switch strings.ToLower(label) {
		case "us-ascii", "iso-8859-1", "windows-1252":
			return charmap.Windows1252.NewDecoder().Reader(input), nil
		}
		return nil, text.Advise("save the file as UTF-8", "the encoding %q is not known", label)
	}
	err := xml.NewTokenDecoder(in).Decode(doc)
	if err == nil {
		return nil
	}
	if !errors.As(err, new(*input.Advice)) {
		err = text.Advise("save the file again by the program that made it, as UTF-8", "%w", err)
	}
	return fmt.Errorf("%s: byte %d: %w", name, in.InputOffset(), err)
}

// shallow reads elements that do not nest deeply: a parser keeps forty times the size of those that are open.
type shallow struct {
	*xml.Decoder
	depth  int
	within *input.Budget
}

const deepest = 100 // the formats that are read nest six deep

func (s *shallow) Token() (xml.Token, error) {
	token, err := s.Decoder.Token()
	switch token.(type) {
	case xml.StartElement:
		if err := s.within.Elements(1); err != nil {
			return nil, err
		}
		if s.depth++; s.depth > deepest {
			return nil, text.Advise("see whether the file is damaged", "elements nest more than %d deep", deepest)
		}
	case xml.EndElement:
		s.depth--
	}
	return token, err
}
