package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mmcdole/gofeed/rss"
)

// bomb is a small document that would cost a careless reader minutes or gigabytes.
type bomb struct {
	name string
	make func() string
	want string // part of the error, "" if it is read
}

func nest(open, shut string, n int) string { return strings.Repeat(open, n) + strings.Repeat(shut, n) }

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// smallItems is items of 17 elements each.
func smallItems(n int) string {
	return numbered(n, "<item><guid>%[1]d</guid><title>A title of the item %[1]d</title><link>http://h/%[1]d</link><pubDate>1 Jan 2026</pubDate><author>a</author><comments>c</comments>"+
		strings.Repeat("<category>c%[1]d</category>", 4)+strings.Repeat("<media:thumbnail url='http://h/%[1]d.png'/>", 7)+"</item>")
}

var bombs = []bomb{
	{"elements nested in an extension", func() string {
		return rssOf("<item><x:a>" + nest("<a>", "</a>", 2_000_000) + "</x:a></item>")
	}, "nested deeper"},
	{"elements nested and never closed", func() string { return rssOf("<item><title>" + strings.Repeat("<a>", 2_000_000)) }, "nested deeper"},
	{"5,000 namespaces, 20,000 elements", func() string {
		return "<rss" + numbered(5000, " xmlns:n%d='u'") + "><channel><item>" + strings.Repeat("<a/>", 20_000) + "</item></channel></rss>"
	}, "namespaces in scope"},
	{"64 namespaces, 400,000 elements", func() string {
		return "<rss" + numbered(60, " xmlns:n%d='u'") + "><channel><item>" + strings.Repeat("<n1:a/>", 400_000) + "</item></channel></rss>"
	}, "elements times namespaces"},
	{"20,000 nested xml:base", func() string {
		return rssOf("<item>" + nest("<a xml:base='abcdefghij/'>", "</a>", 20_000) + "</item>")
	}, "nested deeper"},
	{"200 nested xml:base of 60 KB", func() string {
		return rssOf("<item>" + nest("<a xml:base='"+strings.Repeat("x/", 30_000)+"'>", "</a>", 200) + "</item>")
	}, ""},
	{"300,000 comments in one text", func() string {
		return rssOf("<item><x:t>" + strings.Repeat("a<!---->", 300_000) + "</x:t></item>")
	}, "pieces of text"},
	{"300,000 children with text between", func() string {
		return rssOf("<item><x:t>" + strings.Repeat("a<b/>", 300_000) + "</x:t></item>")
	}, "pieces of text"},
	{"600,000 elements", func() string { return rssOf(strings.Repeat("<item/>", 10_000) + strings.Repeat("<a/>", 600_000)) }, "elements"},
	{"a date of 8 MB", func() string {
		return rssOf("<item><pubDate>" + strings.Repeat("Mon, 1 ", 1<<20) + "</pubDate></item>")
	}, "a date of more"},
	{"a date of 8 MB of the feed", func() string { return rssOf("<pubDate>" + strings.Repeat("Mon, 1 ", 1<<20) + "</pubDate>") }, "a date of more"},
	{"an extension's date of 8 MB", func() string {
		return rssOf("<item><dc:date>" + strings.Repeat("Mon, 1 ", 1<<20) + "</dc:date></item>")
	}, "a date of more"},
	{"20,001 items", func() string { return rssOf(strings.Repeat("<item/>", 20_001)) }, "items"},
	{"XHTML that is a tree of 100 million nodes as HTML", func() string {
		return atomOf("<entry><title>x</title><content type='xhtml'><div><p>" + numbered(500, "<b id='%d'/>") + "</p>" + strings.Repeat("<p>x</p>", 200_000) + "</div></content></entry>")
	}, ""},
	{"HTML that is a tree of 100 million nodes", func() string {
		return atomOf("<entry><title>x</title><content type='html' xml:base='http://h/'><![CDATA[<p>" + numbered(500, "<b id='%d'>") + "</p>" + strings.Repeat("<p>x</p>", 200_000) + "]]></content></entry>")
	}, ""},
	{"a million attributes", func() string { return rssOf("<item" + numbered(1_000_000, " a%d=''") + "><title>x</title></item>") }, "attributes"},
	{"a date of 8 MB", func() string {
		return rssOf("<item><pubDate>" + strings.Repeat("1 Jan ", 1_400_000) + "</pubDate></item>")
	}, ""},
	{"8 million ampersands", func() string {
		return rssOf("<item><title>" + strings.Repeat("&", 8_000_000) + "</title></item>")
	}, ""},
	{"4 million bare <", func() string { return rssOf("<item><title>" + strings.Repeat("< ", 4_000_000) + "</title></item>") }, ""},
	{"2 million comments without end", func() string {
		return rssOf("<item><title>" + strings.Repeat("<!--", 2_000_000) + "</title></item>")
	}, ""},
	{"1 million CDATA without end", func() string {
		return rssOf("<item><title>" + strings.Repeat("<![CDATA[", 1_000_000) + "</title></item>")
	}, ""},
	{"1 million CDATA with one end", func() string {
		return rssOf("<item><title>" + strings.Repeat("<![CDATA[</x>", 600_000) + "]]></titel></item>")
	}, ""},
	{"1 million CDATA without end, and the root's end tag", func() string {
		return "<rss><channel><item><zzz>" + strings.Repeat("<![CDATA[", 1_000_000) + "</rss>"
	}, ""},
	{"CDATA without end in elements of 400,000 names", func() string {
		return "<rss><channel>" + numbered(400_000, "<z%d><![CDATA[</zz>") + "</rss>"
	}, ""},
	{"a million tags that begin in each other's quotes", func() string {
		return "<rss><channel><item><a b=\"" + strings.Repeat("<a\" b=\"", 1_000_000) + "</rss>"
	}, ""},
	{"250,000 end tags below 250 open elements", func() string {
		return rssOf("<item>" + strings.Repeat("<"+strings.Repeat("a", 60)+">", 250) + strings.Repeat("</"+strings.Repeat("a", 59)+"b>", 250_000) + "</item>")
	}, ""},
	{"80,000 enclosures relative to 8 KB", func() string {
		return rssOf("<link>http://h/" + strings.Repeat("x", 8000) + "/</link>" +
			strings.Repeat("<item>"+numbered(100, "<enclosure url='%d'/>")+"</item>", 800))
	}, "relative addresses were left out"},
	{"80,000 enclosures relative to 8 KB that add little", func() string {
		return rssOf("<link>http://h/" + strings.Repeat("x", 8000) + "</link>" +
			strings.Repeat("<item>"+numbered(100, "<enclosure url='%d'/>")+"</item>", 800))
	}, ""},
	{"240,000 enclosures relative to the root of an 8 KB base", func() string {
		return rssOf("<link>http://h/" + strings.Repeat("%2F", 2600) + "/</link>" +
			strings.Repeat("<item>"+numbered(100, "<enclosure url='/%d'/>")+"</item>", 1600))
	}, ""},
	{"60,000 enclosures of one item", func() string {
		return rssOf("<item>" + numbered(60_000, "<enclosure url='http://h/%d'/>") + "</item>")
	}, "more than 1000 enclosures"},
	{"20,000 xml:base on tags, relative to 8 KB", func() string {
		return rssOf("<link>http://h/" + strings.Repeat("x", 8000) + "/</link>" +
			strings.Repeat("<item"+strings.Repeat(" xml:base='a'", 50)+"><link>1</link></item>", 4_000))
	}, ""},
	{"5,000 items that the parser does not see", func() string {
		return "<a:rss xmlns:a='http://www.w3.org/2005/Atom'><channel>" + strings.Repeat("<a/>", 20_000) +
			strings.Repeat("<a:item><title>x</title></a:item>", 5000) + "</channel></a:rss>"
	}, "no item can be read"},
	{"20,000 items and 60,000 authors of the feed", func() string {
		return atomOf(strings.Repeat("<author><name>&lt;b>x</name></author>", 60_000) + strings.Repeat("<entry><title>x</title></entry>", 20_000))
	}, ""},
	{"2 million end tags", func() string { return rssOf("<item><title>x" + strings.Repeat("</x>", 2_000_000) + "</title></item>") }, ""},
	{"a million tags with one quote", func() string {
		return rssOf("<item><title>" + strings.Repeat("<a b='><a b=\">", 600_000) + "</title></item>")
	}, ""},
	{"entities in entities", func() string {
		return "<!DOCTYPE rss [" + numbered(30, "<!ENTITY e%d '&e;&e;&e;&e;&e;&e;&e;&e;'>") + "]>" + rssOf("<item><title>&e29;</title></item>")
	}, ""},
	{"JSON nested a million deep", func() string {
		return `{"version":"https://jsonfeed.org/version/1","items":[{"id":` + nest("[", "]", 1_000_000) + `}]}`
	}, "nested deeper"},
	{"JSON of 4 million values", func() string {
		return `{"version":"https://jsonfeed.org/version/1","items":[{"id":"1","tags":[` + strings.Repeat("1,", 4_000_000) + `1]}]}`
	}, "values"},
	{"keywords that are commas", func() string {
		return rssOf("<item><itunes:keywords xmlns:itunes='http://www.itunes.com/DTDs/PodCast-1.0.dtd'>" + strings.Repeat(",", 15<<20) + "</itunes:keywords></item>")
	}, ""},
	{"4,990 pieces of 16 MB of text", func() string {
		return rssOf("<item><x:t>" + strings.Repeat(strings.Repeat("a", 3200)+"<!---->", 4990) + "</x:t></item>")
	}, "pieces of text joined"},
	{"2,000 items and a title with a character that XML does not allow, beside 450,000 elements", func() string {
		return rssOf("<title>&#00000000000000000001;</title>" + strings.Repeat("<a/>", 450_000) + strings.Repeat("<item><title>&#00000000000000000001;</title></item>", 2000))
	}, ""},
	{"2,000 items that the parser does not see, beside 400,000 elements and one that only the parser takes for an item", func() string {
		return "<z:rss xmlns:z='u' xmlns:y='u'><channel><y:item/>" + strings.Repeat("<a/>", 400_000) + strings.Repeat("<z:item><title xmlns:z='v'/></z:item><item xmlns:q='w'/>", 2000) + "</channel></z:rss>"
	}, ""},
	{"5,000 items that the parser does not see, beside a text of 15 MB", func() string {
		return "<a:rss xmlns:a='http://www.w3.org/2005/Atom'><channel>" + strings.Repeat("<a:item/>", 5000) +
			"<item><description>" + strings.Repeat("a", 15<<20) + "</description></item></channel></a:rss>"
	}, "no item can be read"},
	{"JSON of 15 MB of < whose title is a number", func() string {
		return `{"version":"https://jsonfeed.org/version/1","title":7,"items":[{"id":"1","content_html":"` + strings.Repeat("<", 15<<20) + `"}]}`
	}, "1 items"},
	{"an attribute of 15 MB of quotes", func() string {
		return rssOf("<item><a b='" + strings.Repeat(`"`, 15<<20) + "' c=d></a></titel><title>x</title></item>")
	}, ""},
	{"attributes of 15 MB of quotes", func() string {
		return rssOf("<item><a " + strings.Repeat(" b='"+strings.Repeat(`"`, 60_000)+"'", 250) + " c=d></a></titel><title>x</title></item>")
	}, ""},
	{"JSON of 400,000 members beside the items, one of which is wrong", func() string {
		return `{"version":"https://jsonfeed.org/version/1","title":7,` + numbered(400_000, `"m%d":"x",`) + `"items":[{"id":"1"}]}`
	}, "members"},
	{"JSON of 4 million members beside the items that nobody reads", func() string {
		return `{"version":"https://jsonfeed.org/version/1",` + strings.Repeat(`"_":1,`, 2_500_000) + `"items":[{"id":"1"}]}`
	}, "values"},
	{"15 million references that are none, in a description", func() string {
		return rssOf("<item><description>" + strings.Repeat(strings.Repeat("&", 62)+";", 15<<20/63) + "</description></item>")
	}, ""},
	{"15 million references that are none, in a title", func() string {
		return rssOf("<item><title>" + strings.Repeat(strings.Repeat("&", 62)+";", 15<<20/63) + "</title></item>")
	}, "references"},
	{"20,000 items with two xml:base each, relative to 8 KB", func() string {
		return rssOf("<link>http://h/" + strings.Repeat("x", 8000) + "/</link>" +
			strings.Repeat("<item xml:base='a'><link xml:base='b'>1</link></item>", 20_000))
	}, "relative addresses were left out"},
	{"a date of 14 MB of an entry's source", func() string {
		return atomOf("<entry><source><updated>" + strings.Repeat("Mon, 1 ", 2<<20) + "</updated></source></entry>")
	}, "a date of more"},
	{"19,900 items of 17 elements", func() string { return rssOf(smallItems(19_900)) }, "19900 items"},
	{"5,000 items of 17 elements, the last of which the parser does not see", func() string {
		return "<a:rss xmlns:a='http://www.w3.org/2005/Atom'><channel>" + smallItems(4_999) + "<a:item><title>x</title></a:item></channel></a:rss>"
	}, "4999 items [item 5000 cannot be read]"},
	{"19,900 items of 17 extensions", func() string {
		return rssOf(strings.Repeat("<item><title>x</title>"+strings.Repeat("<x:a b='c'>d</x:a>", 17)+"</item>", 19_900))
	}, "1 items"},
	{"6,000 items of 17 elements in a root of 3 MB", func() string {
		return "<rss" + numbered(900, " a%d='"+strings.Repeat("x", 3500)+"'") + "><channel>" + smallItems(6_000) + "</channel></rss>"
	}, "6000 items"},
	{"5,000 items of 17 elements beside 3 MB and 60,000 elements", func() string {
		return rssOf("<copyright>" + strings.Repeat("x", 3<<20) + "</copyright>" + strings.Repeat("<category>a</category>", 60_000) + smallItems(5_000))
	}, "5000 items"},
	{"490,000 categories of one item", func() string {
		return rssOf("<item>" + numbered(490_000, "<category>c%d</category>") + "</item>")
	}, "too-large no item can be read: more than"},
	{"490,000 categories of one item of two", func() string {
		return rssOf("<item><title>x</title></item><item>" + numbered(490_000, "<category>c%d</category>") + "</item>")
	}, "1 items [item 2 cannot be read: it has more than"},
	{"490,000 values of one JSON item of two", func() string {
		return `{"version":"https://jsonfeed.org/version/1","items":[{"id":"1"},{"id":2,"attachments":[` + strings.Repeat("{},", 240_000) + `{}]}]}`
	}, "1 items [item 2 cannot be read: it has more than"},
	{"490,000 categories of the feed", func() string {
		return rssOf(numbered(490_000, "<category>c%d</category>") + "<item><title>x</title></item>")
	}, "1 items [what the feed says of itself cannot be read]"},
	{"categories as many as one item may have, seven times", func() string {
		return rssOf(strings.Repeat("<item>"+numbered(maxPart-1, "<category>c%d</category>")+"</item>", 7))
	}, ""},
	{"extensions as many as one item may have, seven times", func() string {
		return rssOf(strings.Repeat("<item>"+strings.Repeat("<x:a b='c'>d</x:a>", maxPart-1)+"</item>", 7))
	}, ""},
	{"JSON with 20,000 broken items", func() string {
		return `{"version":"https://jsonfeed.org/version/1","title":"` + strings.Repeat("x", 1_000_000) + `","items":[` + strings.Repeat(`{"id":x},`, 19_999) + `{"id":"1"}]}`
	}, ""},
}

const bombVariable = "CRAWL_FEED_BOMB"

// An ordinary document of the size that may be fetched, which gofeed alone parses: what the time of a bomb is compared with, for a
// shared machine slows both down.
var ordinary = bomb{"17 MB of 7,000 items with text, parsed by gofeed alone", func() string {
	return rssOf(numbered(7000, "<item><guid>http://h/%[1]d</guid><title>Title %[1]d</title><link>http://h/%[1]d</link><pubDate>Mon, 02 Jan 2026 15:04:05 GMT</pubDate><description>"+
		strings.Repeat("Some &lt;b&gt;words&lt;/b&gt; of text. ", 60)+"</description></item>"))
}, ""}

// Every bomb ends within twice the processor time that gofeed needs for an ordinary document (2 seconds on the machine on which the
// limits were chosen) and 200 MB, in a process of its own whose memory is limited. A machine that is shared may slow down for one of
// two readings, but not for the same one each time.
func TestBombs(t *testing.T) {
	if name := os.Getenv(bombVariable); name != "" {
		explode(name)
	}
	if raceEnabled {
		t.Skip("time and memory are not measured under the race detector")
	}
	limit, _, _ := runBomb(t, ordinary)
	for _, b := range bombs {
		t.Run(b.name, func(t *testing.T) {
			cpu, megabytes, verdict := runBomb(t, b)
			for tries := 0; cpu > 2*limit && tries < 3; tries++ {
				limit, _, _ = runBomb(t, ordinary)
				cpu, megabytes, verdict = runBomb(t, b)
			}
			t.Logf("%.2f of gofeed's %.2f s, %d MB: %s", cpu.Seconds(), limit.Seconds(), megabytes, verdict)
			if cpu > 2*limit || megabytes > 200 {
				t.Errorf("it took %v and %d MB", cpu, megabytes)
			}
			if !strings.Contains(verdict, b.want) {
				t.Errorf("got %q, want %q", verdict, b.want)
			}
		})
	}
}

// runBomb reads a bomb in a process of its own and gives its processor time and the most memory that it held.
func runBomb(t *testing.T, b bomb) (cpu time.Duration, megabytes int, verdict string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestBombs$")
	cmd.Env = append(os.Environ(), bombVariable+"="+b.name, "GOGC=300", "GOMEMLIMIT=112MiB", "GOMAXPROCS=1") // the first two as in a run; another processor marks garbage when idle
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out[:min(len(out), 2000)])
	}
	memory, verdict, _ := strings.Cut(string(bytes.TrimSpace(out)), ", ")
	if _, err := fmt.Sscanf(memory, "%d MB", &megabytes); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), megabytes, verdict
}

// explode reads one bomb and ends the process.
func explode(name string) {
	limit := &syscall.Rlimit{Cur: 1 << 30, Max: 1 << 30}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, limit); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if name == ordinary.name {
		f, err := (&rss.Parser{}).Parse(strings.NewReader(ordinary.make()))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Printf("%d MB, %d items\n", peak(), len(f.Items))
		os.Exit(0)
	}
	for _, b := range bombs {
		if b.name != name {
			continue
		}
		f, err := Read(context.Background(), Document{Body: []byte(b.make()), URL: "https://example.net/"})
		fmt.Printf("%d MB, ", peak())
		var e *Error
		switch {
		case err == nil:
			fmt.Println(len(f.Items), "items", f.Warnings)
		case errors.As(err, &e):
			fmt.Println(e.Kind, e.Text)
		default:
			fmt.Println(err)
		}
		os.Exit(0)
	}
	os.Exit(2)
}

// peak is the most memory that this process has held at once, in MB. (The usage that wait reports can be the parent's.)
func peak() (megabytes int) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscanf(line, "%d", &megabytes); err != nil {
		return 0
	}
	return megabytes >> 10
}
