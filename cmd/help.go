package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND]",
		Short:             "say what a command does and takes",
		ValidArgsFunction: completeCommands,
		RunE: func(c *cobra.Command, args []string) error {
			found := c.Root()
			for _, name := range args {
				next := subcommand(found, name)
				if next == nil {
					return unknownCommand(found, name)
				}
				found = next
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// subcommand is a command's subcommand of a name, nil if there is none.
func subcommand(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name {
			return sub
		}
	}
	return nil
}

// settleCompletion makes a wrong use of cobra's completion command an error, as of any other.
func settleCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	c := subcommand(root, "completion")
	c.Use, c.Short = "completion SHELL", "print the completion script for bash, zsh, fish or powershell"
	c.Long = "completion prints a script that lets a shell complete the commands, flags, feeds and categories of crawl. The help of each shell says\nhow it is loaded."
	c.Args = takes(1, 0, "SHELL")
	c.RunE = func(*cobra.Command, []string) error { return nil } // Args lets nothing through
	for _, shell := range c.Commands() {
		shell.Args, shell.Short = takes(0, 0, ""), "the script for "+shell.Name()
	}
}

// usage prints how a command is used: its own flags, the settings that are of use for it, and what every command has.
func usage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.HasParent() || !c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n\nCommands:\n", c.CommandPath())
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-12s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	own, settings := pflag.NewFlagSet("", 0), pflag.NewFlagSet("", 0)
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, isSetting := f.Value.(*settingFlag); isSetting && c.HasParent() {
			settings.AddFlag(f)
		} else {
			own.AddFlag(f)
		}
	})
	flagTable(&b, "Flags", own)
	flagTable(&b, "Settings (crawl config prints those in force)", settings)
	flagTable(&b, "For all commands", c.InheritedFlags())
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more about a command.\n", c.CommandPath())
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

// flagTable prints flags, nothing if there are none to be seen.
func flagTable(b *strings.Builder, heading string, flags *pflag.FlagSet) {
	var left, right []string
	widest := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, says := pflag.UnquoteUsage(f)
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		if value != "" && f.Value.Type() != "count" {
			name += " " + value
		}
		switch f.DefValue {
		case "", "0", "false", "[]":
		default:
			says += " (default " + f.DefValue + ")"
		}
		left, right = append(left, name), append(right, says)
		widest = max(widest, len(name))
	})
	for i := range left {
		if i == 0 {
			fmt.Fprintf(b, "\n%s:\n", heading)
		}
		fmt.Fprintf(b, "  %-*s  %s\n", widest, left[i], right[i])
	}
}
