package viz

import (
	_ "embed"
	"encoding/base64"
	"strings"
	"text/template"
)

//go:embed pages.html
var pagesText string

//go:embed turn.js
var turnScript string

//go:embed slider.js
var sliderScript string

//go:embed drag.js
var dragScript string

// The templates of what a reader can move. Pictures are drawn on white. Where a page is dark the pictures of HTML, inside the class viz-ink,
// turn light and dark over and keep their hues, and their paper takes the colour of the page. The rule is for the pictures themselves, so that
// it and a like one of the page do not undo each other. Pictures whose colours stand for values, inside the class viz-paper, stay as they are,
// on white paper: light is high on every page. JupyterLab says at the body whether its theme is light. Buttons have the colour of the page's
// text.
var pages = template.Must(template.New("").Funcs(template.FuncMap{"html": escaped}).Parse(pagesText))

type fields map[string]any

// page returns a template of pages.html, filled in.
func page(name string, data any) string {
	var out strings.Builder
	sure(0, pages.ExecuteTemplate(&out, name, data))
	return out.String()
}

// pictureField fills in the template of an image, so many pixels wide.
func pictureField(alt string, width int, png []byte, hidden bool) fields {
	return fields{"Alt": alt, "Width": width, "Data": base64.StdEncoding.EncodeToString(png), "Hidden": hidden}
}
