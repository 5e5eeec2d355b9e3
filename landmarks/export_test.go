package landmarks

// BlocksOf sets how many numbers a block of points has at most, until done is called.
func BlocksOf(n int) (done func()) {
	was := blockOfPoints
	blockOfPoints = n
	return func() { blockOfPoints = was }
}
