package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// origin is where a setting's value comes from: "default", "flag --workers", "variable CRAWL_WORKERS" or the file's path. texts
// is the value as it was written there.
type origin struct {
	from  string
	texts []string
}

// settingFlag is a setting on the command line. It keeps the text; what it means is decided in one place for all sources.
type settingFlag struct {
	setting setting
	texts   []string
}

func (f *settingFlag) Type() string   { return f.setting.kind }
func (f *settingFlag) String() string { return strings.Join(f.texts, ",") }

func (f *settingFlag) Set(text string) error {
	if f.setting.list {
		f.texts = append(f.texts, splitList(text)...)
	} else {
		f.texts = []string{text}
	}
	return nil
}

// addSettings gives a command the flags of some groups, except those that it uses for something of its own.
func addSettings(flags *pflag.FlagSet, groups group, except ...string) {
	for _, s := range settingList() {
		if s.group&groups == 0 || slices.Contains(except, s.name) {
			continue
		}
		f := flags.VarPF(&settingFlag{setting: s}, s.name, "", s.usage)
		f.DefValue = s.def
	}
}

// showOnly leaves in the help of a command those of its settings that are of use for it. It takes the others all the same.
func showOnly(flags *pflag.FlagSet, useful ...string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if _, isSetting := f.Value.(*settingFlag); isSetting {
			f.Hidden = !slices.Contains(useful, f.Name)
		}
	})
}

// givenHidden is the name of a setting that was given as a flag though it is of no use, "" if none was.
func givenHidden(flags *pflag.FlagSet) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if _, isSetting := f.Value.(*settingFlag); isSetting && f.Hidden {
			name = f.Name
		}
	})
	return name
}

// loadSettings puts the sources together: a flag beats a variable beats the file beats the default. The errors name the source.
func loadSettings(flags *pflag.FlagSet, env func(string) (string, bool)) (settings, map[string]origin, error) {
	layers := settingLayers{list: settingList(), origins: map[string]origin{}, all: koanf.New(".")}
	return layers.load(flags, env)
}

// loadWithoutFile is loadSettings for commands that must work whatever the file says.
func loadWithoutFile(flags *pflag.FlagSet, env func(string) (string, bool)) (settings, map[string]origin, error) {
	layers := settingLayers{list: settingList(), origins: map[string]origin{}, all: koanf.New("."), noFile: true}
	return layers.load(flags, env)
}

func (layers *settingLayers) load(flags *pflag.FlagSet, env func(string) (string, bool)) (settings, map[string]origin, error) {
	fromEnv, fromFlags := layers.variables(env), layers.flags(flags)

	var s settings
	dir, err := dataDirectory(fromFlags, fromEnv, env)
	if err != nil {
		return s, nil, err
	}
	path, err := configFile(dir, fromFlags, fromEnv, env)
	if err != nil {
		return s, nil, err
	}
	fromFile, err := layers.file(path)
	if err != nil {
		return s, nil, err
	}
	for _, layer := range []layer{{"default", layers.defaults(dir, path)}, {path, fromFile}, {"variable", fromEnv}, {"flag", fromFlags}} {
		if err := layers.put(layer); err != nil {
			return s, nil, err
		}
	}
	if err := layers.read(&s); err != nil {
		return s, nil, err
	}
	s.dir, s.config = dir, path
	if base := "."; s.db != "" {
		if layers.origins["db"].from == path {
			base = filepath.Dir(path)
		}
		s.db, err = filepath.Abs(against(base, s.db))
	}
	return s, layers.origins, errors.Join(err, s.check(layers.origins))
}

// layer is what one source says.
type layer struct {
	from   string
	values *koanf.Koanf
}

// settingLayers collects the sources, the weakest first.
type settingLayers struct {
	list    []setting
	origins map[string]origin
	all     *koanf.Koanf
	noFile  bool // the file is not read
}

func (l *settingLayers) defaults(dir, path string) *koanf.Koanf {
	values := map[string]any{"dir": dir, "config": path}
	for _, s := range l.list {
		switch {
		case s.list:
			values[s.name] = []string{}
		case s.def != "" || values[s.name] == nil:
			values[s.name] = s.def
		}
	}
	return loaded(values)
}

func (l *settingLayers) variables(env func(string) (string, bool)) *koanf.Koanf {
	values := map[string]any{}
	for _, s := range l.list {
		text, set := env(variable(s.name))
		if !set || text == "" && !s.list {
			continue
		}
		if s.list {
			values[s.name] = splitList(text)
		} else {
			values[s.name] = text
		}
	}
	return loaded(values)
}

func (l *settingLayers) flags(flags *pflag.FlagSet) *koanf.Koanf {
	k := koanf.New(".")
	// Read of posflag cannot fail, nor can Load of its result.
	_ = k.Load(posflag.ProviderWithFlag(flags, ".", nil, func(f *pflag.Flag) (string, any) {
		value, ours := f.Value.(*settingFlag)
		switch {
		case !ours || !f.Changed:
			return "", nil
		case value.setting.list:
			return f.Name, append([]string{}, value.texts...)
		default:
			return f.Name, value.texts[0]
		}
	}), nil)
	return k
}

// file reads the TOML file at path, "" for none.
func (l *settingLayers) file(path string) (*koanf.Koanf, error) {
	if path == "" || l.noFile {
		return koanf.New("."), nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	values, err := toml.Parser().Unmarshal(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, positioned(err))
	}
	k := loaded(values)
	for _, key := range k.Keys() {
		if key == "dir" || key == "config" {
			return nil, &usageError{fmt.Errorf("%s: %s cannot be set in the file", path, key), "use --" + key + " or the variable " + variable(key)}
		}
		if !slices.ContainsFunc(l.list, func(s setting) bool { return s.name == key }) {
			return nil, &usageError{fmt.Errorf("%s: unknown key %q", path, key), didYouMean(key, names(l.list))}
		}
	}
	return k, nil
}

// positioned puts the place in the file, which the parser knows, before its error.
func positioned(err error) error {
	var at interface{ Position() (row, column int) }
	if !errors.As(err, &at) {
		return err
	}
	row, column := at.Position()
	return fmt.Errorf("line %d, column %d: %s", row, column, strings.TrimPrefix(err.Error(), "toml: "))
}

func loaded(values map[string]any) *koanf.Koanf {
	k := koanf.New(".")
	_ = k.Load(confmap.Provider(values, ""), nil) // a map loads without error
	return k
}

// put lays one source over those before it.
func (l *settingLayers) put(layer layer) error {
	for _, key := range layer.values.Keys() {
		from := layer.from
		switch from {
		case "variable":
			from += " " + variable(key)
		case "flag":
			from += " --" + key
		}
		texts, err := asTexts(layer.values.Get(key))
		if err != nil {
			return fmt.Errorf("%s: %s: %w", layer.from, key, err)
		}
		l.origins[key] = origin{from, texts}
	}
	return l.all.Merge(layer.values)
}

// read turns what is in force into values.
func (l *settingLayers) read(s *settings) error {
	for _, setting := range l.list {
		o := l.origins[setting.name]
		texts, err := asTexts(l.all.Get(setting.name))
		if err == nil && !setting.list && len(texts) != 1 {
			err = errors.New("one value is needed, not a list")
		}
		for i := 0; err == nil && i < len(texts); i++ {
			err = setting.read(s, texts[i])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", blame(setting.name, o.from), err)
		}
	}
	return nil
}

// blame names a setting in the words of its source.
func blame(name, from string) string {
	_, at, spoken := strings.Cut(from, " ")
	if spoken && (strings.HasPrefix(from, "flag ") || strings.HasPrefix(from, "variable ")) {
		return at
	}
	return from + ": " + name
}

// asTexts turns a value of the file into the text that a flag would have.
func asTexts(value any) ([]string, error) {
	switch v := value.(type) {
	case string:
		return []string{v}, nil
	case []string:
		return v, nil
	case int64:
		return []string{strconv.FormatInt(v, 10)}, nil
	case []any:
		texts := []string{}
		for _, element := range v {
			text, ok := element.(string)
			if !ok {
				return nil, fmt.Errorf("%v is not text", element)
			}
			texts = append(texts, text)
		}
		return texts, nil
	}
	return nil, fmt.Errorf("%v is neither text nor a whole number", value)
}

// splitList splits at commas; an empty text is an empty list.
func splitList(text string) []string {
	list := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// variable is the environment variable of a setting.
func variable(name string) string {
	return "CRAWL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func names(list []setting) []string {
	var names []string
	for _, s := range list {
		names = append(names, s.name)
	}
	return names
}
