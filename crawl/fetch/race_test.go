//go:build race

package fetch

// racing: the race detector makes moving bytes ten times as slow, so there are fewer of them.
const racing = true
