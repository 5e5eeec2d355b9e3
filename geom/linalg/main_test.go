package linalg_test

import (
	"testing"

	"anatomy/geom/geomtest"
)

func TestMain(m *testing.M) { geomtest.Main(m, geomtest.Quick) }
