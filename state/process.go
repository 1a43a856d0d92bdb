package state

import "errors"

// ErrStranger: the recorded process is gone, or its pid now belongs to another program.
var ErrStranger = errors.New("the recorded process is gone")
