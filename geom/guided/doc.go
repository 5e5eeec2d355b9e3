// Package guided samples processes that are seen at the leaves of a tree.
package guided
