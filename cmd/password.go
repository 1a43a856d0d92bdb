package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// longestPassword bounds what is read of a password file, in bytes.
const longestPassword = 4096

// password reads the password of a given user: from the file that was named, else by a prompt. It is nil where none is wanted.
func (a *app) password(ctx context.Context, o setOptions, to address) (*string, error) {
	if o.passwordFile != nil {
		return a.passwordFromFile(*o.passwordFile)
	}
	if o.user == nil || *o.user == "" || to.password != "" {
		return nil, nil
	}
	stdin, isFile := a.stdin.(*os.File)
	if !isFile || !a.isTerminal(a.stdin) {
		return nil, &usageError{errors.New("--user: a password is needed, and there is no terminal to ask on"), "--password-file names a file that holds it, - standard input"}
	}
	fmt.Fprintf(a.stderr, "password of %s: ", clean(*o.user))
	defer fmt.Fprintln(a.stderr)
	before, err := term.GetState(int(stdin.Fd()))
	if err != nil {
		return nil, fmt.Errorf("ask for the password: %w", err)
	}
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(int(stdin.Fd()))
		answers <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		_ = term.Restore(int(stdin.Fd()), before) // the terminal echoes again
		return nil, context.Cause(ctx)
	case got := <-answers:
		if got.err != nil {
			return nil, fmt.Errorf("ask for the password: %w", got.err)
		}
		text := string(got.text)
		return &text, nil
	}
}

func (a *app) passwordFromFile(path string) (*string, error) {
	from := a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, unreadable(fmt.Errorf("--password-file: %w", err))
		}
		defer f.Close()
		from = f
	}
	line, err := bufio.NewReader(io.LimitReader(from, longestPassword)).ReadString('\n')
	if err != nil && err != io.EOF {
		return nil, unreadable(fmt.Errorf("--password-file: %w", err))
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return nil, usagef("--password-file: its first line is empty")
	}
	return &line, nil
}
