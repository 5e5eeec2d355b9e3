package population

import (
	"testing"

	"anatomy/landmarks/internal/zoo"
)

func TestMessagesSayWhatToDo(t *testing.T) {
	zoo.Messages(t, 40, "align.go", "check.go", "fit.go", "hessian.go", "model.go", "noise.go", "precondition.go", "rounds.go", "search.go", "statistics.go",
		"../attachment/attachment.go", "../study/study.go")
}
