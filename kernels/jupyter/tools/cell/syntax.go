package cell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// What declarations and statements name.

// identifiers passes on those of a piece of source, but for what stands behind a dot.
func identifiers(n ast.Node, see func(id *ast.Ident)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			identifiers(n.X, see)
			return false
		case *ast.Ident:
			see(n)
		}
		return true
	})
}

// targets lists the variables that a statement at the top level of main, or a declaration, gives values, and what they are computed from.
func targets(n ast.Node) (names []*ast.Ident, values []ast.Expr) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE && n.Tok != token.ASSIGN {
			return nil, nil
		}
		for _, x := range n.Lhs {
			id, ok := x.(*ast.Ident)
			if !ok {
				return nil, nil
			}
			names = append(names, id)
		}
		values = n.Rhs
	case *ast.DeclStmt:
		return targets(n.Decl)
	case *ast.GenDecl:
		if n.Tok == token.VAR {
			for _, s := range n.Specs {
				names, values = append(names, s.(*ast.ValueSpec).Names...), append(values, s.(*ast.ValueSpec).Values...)
			}
		}
	}
	return named(names), values
}

// named are those of the names that are not blank.
func named(names []*ast.Ident) []*ast.Ident {
	return slices.DeleteFunc(slices.Clone(names), func(id *ast.Ident) bool { return id.Name == "_" })
}

// declares says whether a statement declares the variables that it gives values.
func declares(s ast.Node) bool {
	assign, is := s.(*ast.AssignStmt)
	return !is || assign.Tok == token.DEFINE
}

func isVar(n ast.Node) bool {
	_, is := n.(*ast.ValueSpec)
	return is
}

// declarations passes on what a declaration declares, but for methods: the name, and the function, the specification of a type or of variables,
// or all of the constants, which may depend on those before them.
func declarations(d ast.Node, see func(id *ast.Ident, of ast.Node)) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			see(d.Name, d)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				of := ast.Node(s)
				if d.Tok == token.CONST {
					of = d
				}
				for _, id := range s.Names {
					see(id, of)
				}
			case *ast.TypeSpec:
				see(s.Name, s)
			}
		}
	}
}

// declaredBy lists the names that a declaration declares, but for methods.
func declaredBy(d ast.Node) (names []string) {
	declarations(d, func(id *ast.Ident, _ ast.Node) { names = append(names, id.Name) })
	return names
}

// unresolved are the names that a piece of source takes from outside.
func unresolved(node ast.Node) map[string]bool {
	found := map[string]bool{}
	identifiers(node, func(id *ast.Ident) {
		if id.Obj == nil {
			found[id.Name] = true
		}
	})
	return found
}

// idents are the names of identifiers.
func idents(ids []*ast.Ident) (names []string) {
	for _, id := range ids {
		names = append(names, id.Name)
	}
	return names
}

// pieceBefore stands before a declaration where it is parsed.
const pieceBefore = "package p; "

// node is the declaration or the statement that a piece is, or an empty statement.
func (p piece) node() ast.Node {
	file, err := parser.ParseFile(token.NewFileSet(), "", pieceBefore+p.text, 0)
	if err == nil && len(file.Decls) == 1 {
		return file.Decls[0]
	}
	file, err = parser.ParseFile(token.NewFileSet(), "", "package p; func _() {\n"+p.text+"\n}", 0)
	if err == nil && len(file.Decls) == 1 {
		if all := file.Decls[0].(*ast.FuncDecl).Body.List; len(all) == 1 {
			return all[0]
		}
	}
	return &ast.EmptyStmt{}
}

// typeName is the name of a type, without its parameters, and that of its package where it is another one.
func typeName(t ast.Expr) (from, name string) {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		from, _ := t.X.(*ast.Ident)
		if from == nil {
			return "", ""
		}
		return from.Name, t.Sel.Name
	case *ast.Ident:
		return "", t.Name
	}
	return "", ""
}
