package fetch

import (
	"strings"
	"testing"
)

// normalized is what becomes of addresses as people type them; "" where they are refused.
var normalized = []struct{ raw, want string }{
	{"https://example.com/feed", "https://example.com/feed"},
	{"HTTP://Example.COM/Feed?A=B", "http://example.com/Feed?A=B"},
	{"  https://example.com/feed\n", "https://example.com/feed"},
	{"https://exam\nple.com/fe\ted", "https://example.com/feed"},
	{"example.com", "https://example.com"},
	{"example.com/feed", "https://example.com/feed"},
	{"example.com:8080/feed", "https://example.com:8080/feed"},
	{"localhost:8080", "https://localhost:8080"},
	{"localhost:8080/a:b", "https://localhost:8080/a:b"},
	{"192.0.2.1:8080", "https://192.0.2.1:8080"},
	{"[2001:db8::1]:8080/x", "https://[2001:db8::1]:8080/x"},
	{"//example.com/feed", "https://example.com/feed"},
	{"feed://example.com/feed", "https://example.com/feed"},
	{"feed:https://example.com/feed", "https://example.com/feed"},
	{"feed:http://example.com/feed", "http://example.com/feed"},
	{"FEED:example.com/feed", "https://example.com/feed"},
	{"http:example.com", "http://example.com"},
	{"https:/example.com/x", "https://example.com/x"},
	{"https://example.com:443/", "https://example.com/"},
	{"http://example.com:80/", "http://example.com/"},
	{"http://example.com:443/", "http://example.com:443/"},
	{"https://example.com:0443/", "https://example.com/"},
	{"https://example.com:/", "https://example.com/"},
	{"https://example.com./feed", "https://example.com/feed"},
	{"https://example.com/a#b", "https://example.com/a"},
	{"https://example.com/a?", "https://example.com/a?"},
	{"https://example.com/a b?c d", "https://example.com/a%20b?c%20d"},
	{"https://example.com/%7euser/%2F", "https://example.com/%7euser/%2F"},
	{"https://例え.jp/フィード", "https://xn--r8jz45g.jp/%E3%83%95%E3%82%A3%E3%83%BC%E3%83%89"},
	{"https://BÜCHER.example/", "https://xn--bcher-kva.example/"},
	{"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"},
	{"https://ｅｘａｍｐｌｅ．ｃｏｍ/", "https://example.com/"},
	{"https://a_b.example.com/", "https://a_b.example.com/"},
	{"https://r3---sn-x.example.com/", "https://r3---sn-x.example.com/"},
	{"http://2130706433/", "http://127.0.0.1/"},
	{"http://0x7f.1/", "http://127.0.0.1/"},
	{"http://0X7F000001/", "http://127.0.0.1/"},
	{"http://017700000001/", "http://127.0.0.1/"},
	{"http://127.1/", "http://127.0.0.1/"},
	{"http://10.1.2/", "http://10.1.0.2/"},
	{"http://１２７.0.0.1/", "http://127.0.0.1/"},
	{"http://127.0.0.1./", "http://127.0.0.1/"},
	{"http://[::FFFF:7f00:1]/", "http://[::ffff:127.0.0.1]/"},
	{"http://[0:0:0:0:0:0:0:1]/", "http://[::1]/"},
	{"http://1.example.0x/", ""},
	{"http://1.2.3.4.5/", ""},
	{"http://256.1.1.1/", ""},
	{"http://1.2.3.08/", ""},
	{"http://4294967296/", ""},
	{"http://99999999999999999999/", ""},
	{"", ""},
	{" ", ""},
	{"/feed.xml", ""},
	{"?x", ""},
	{"#", ""},
	{"http://", ""},
	{"http:///feed.xml", ""},
	{"https://:80/", ""},
	{"https://?x", ""},
	{"https://example.com:99999/", ""},
	{"https://example.com:0/", ""},
	{"https://example.com:x/", ""},
	{"ftp://example.com/", ""},
	{"file:///etc/passwd", ""},
	{"javascript:alert(1)", ""},
	{"mailto:me@example.com", ""},
	{"data:text/xml,<rss/>", ""},
	{"https://example.com/%zz", ""},
	{"https://exa mple.com/", ""},
	{"https://exa\x00mple.com/", ""},
	{"https://example.com/\x1b[2J", ""},
	{"https://%65xample.com/", ""},
	{"https://[::1/", ""},
	{"https://[fe80::1%25eth0]/", ""},
	{"https://[::1]x/", ""},
	{"https://example..com/", ""},
	{"https://.example.com/", ""},
	{"https://example.com../", ""},
	{"https://\x9f.example/", ""},
	{"https://./", ""},
	{"https://a|b.example/", ""},
	{"https://" + strings.Repeat("a.", 130) + "example/", ""},
	{`https://good.example\@evil.example/`, ""},
}

func TestNormalize(t *testing.T) {
	for _, tt := range normalized {
		got, user, password, err := Normalize(tt.raw)
		if got != tt.want || (err != nil) != (tt.want == "") || user != "" || password != "" {
			t.Errorf("Normalize(%q) = %q %q %q %v, want %q", tt.raw, got, user, password, err, tt.want)
		}
	}
}

func TestNormalizeTakesTheUserOut(t *testing.T) {
	for _, raw := range []string{
		"https://me:pa%3Ass@example.com/feed", "me:pa%3Ass@example.com/feed", "feed://me:pa%3Ass@example.com/feed",
	} {
		got, user, password, err := Normalize(raw)
		if got != "https://example.com/feed" || user != "me" || password != "pa:ss" || err != nil {
			t.Errorf("Normalize(%q) = %q %q %q %v", raw, got, user, password, err)
		}
	}
	if got, user, _, _ := Normalize("https://me@example.com/"); got != "https://example.com/" || user != "me" {
		t.Errorf("%q %q", got, user)
	}
}

func TestHostAndDomain(t *testing.T) {
	for _, tt := range []struct{ raw, host, domain string }{
		{"https://Blog.Example.co.uk/feed", "blog.example.co.uk", "example.co.uk"},
		{"http://blog.example.com:8080/feed", "blog.example.com:8080", "example.com"},
		{"http://blog.example.com:80/feed", "blog.example.com", "example.com"},
		{"https://me.github.io/", "me.github.io", "me.github.io"},
		{"https://github.io/", "github.io", "github.io"},
		{"https://localhost/", "localhost", "localhost"},
		{"https://192.0.2.1:8443/", "192.0.2.1:8443", "192.0.2.1"},
		{"https://[2001:db8::1]/", "[2001:db8::1]", "2001:db8::/48"},
		{"https://[2001:db8:0:1:2:3:4:5]:8443/", "[2001:db8:0:1:2:3:4:5]:8443", "2001:db8::/48"},
		{"https://[2001:db8:1::1]/", "[2001:db8:1::1]", "2001:db8:1::/48"},
		{"https://[::ffff:192.0.2.1]/", "[::ffff:192.0.2.1]", "192.0.2.1"},
		{"https://例え.jp/", "xn--r8jz45g.jp", "xn--r8jz45g.jp"},
		{"nonsense", "nonsense", "nonsense"},
	} {
		if host, domain := Host(tt.raw), Domain(tt.raw); host != tt.host || domain != tt.domain || DomainOf(host) != domain {
			t.Errorf("%s: host %q, domain %q; want %q, %q", tt.raw, host, domain, tt.host, tt.domain)
		}
	}
}

func TestRedact(t *testing.T) {
	for raw, want := range map[string]string{
		"https://u:secret@Example.com:8443/secret?secret#secret": "https://example.com:8443",
		"http://[::1]/secret": "http://[::1]",
		"https://secret/%zz":  "an unreadable URL",
		"secret":              "an unreadable URL",
	} {
		if got := Redact(raw); got != want {
			t.Errorf("Redact(%q) = %q", raw, got)
		}
	}
}

// TestCheckURL: what is refused before anything is sent says why, by name and without the path.
func TestCheckURL(t *testing.T) {
	c, err := New(Options{UserAgent: agent})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ raw, says string }{
		{"https://example.com/secret", ""},
		{"http://example.com:8080/secret", ""},
		{"http://1.1.1.1/secret", ""},
		{"http://[2606:4700::1]:1024/secret", ""},
		{"feed://example.com/secret", "feed is not http or https"},
		{"ftp://example.com/secret", "ftp is not http or https"},
		{"secret://example.com/", "scheme is not http or https"},
		{"example.com/secret", "has no scheme"},
		{"http:///secret", "no host"},
		{"http://example.com:22/secret", "example.com: port 22 is neither 80, 443 nor from 1024 up"},
		{"http://example.com:1023/secret", "port 1023"},
		{"http://1.1.1.1:25/secret", "port 25"},
		{"http://user:secret/secret@example.com/", "port is not a number"},
		{"http://127.0.0.1:8080/secret", "127.0.0.1 is not a public address (--allow-net 127.0.0.1/32 would open it)"},
		{"http://[fd00::1]/secret", "fd00::1 is not a public address (--allow-net fd00::1/128 would open it)"},
		{"http://localhost/secret", "localhost: 127.0.0.1 is not a public address"},
		{"http://a.LOCALHOST./secret", "a.localhost: 127.0.0.1"},
		{"http://2130706433/secret", "127.0.0.1 is not a public address"},
	} {
		err := c.CheckURL(tt.raw)
		if (err != nil) != (tt.says != "") || err != nil && (!strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("CheckURL(%q) = %v, want %q", tt.raw, err, tt.says)
		}
	}
	open := newClient(t, nil)
	for _, raw := range []string{"http://127.0.0.1:22/", "http://localhost:22/", "http://intranet.example:22/", "http://[::1]/"} {
		if err := open.CheckURL(raw); err != nil {
			t.Errorf("with loopback open, CheckURL(%q) = %v", raw, err)
		}
	}
	if err := open.CheckURL("http://10.0.0.1/"); err == nil {
		t.Error("with loopback open, 10.0.0.1 is open too")
	}
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{
		"https://example.com/feed", "feed:example.com", "http://2130706433/", "http://[::1%25a]/", "https://me:pw@例え.jp/é ?é #é",
		"a//b c", "http:\\\\x", "0x.1", "https://a:1@b:2/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		once, _, _, err := Normalize(raw)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("the error %q has control characters", err)
			}
			return
		}
		again, user, password, err := Normalize(once)
		if again != once || user != "" || password != "" || err != nil {
			t.Errorf("Normalize(%q) = %q, and of that %q %q %q %v", raw, once, again, user, password, err)
		}
		u, err := parseURL(once)
		if err != nil || u.String() != once || u.Host == "" || strings.ContainsAny(once, " \r\n\t#") {
			t.Errorf("Normalize(%q) = %q, which reads as %v %v", raw, once, u, err)
		}
		if !strings.HasPrefix(once, Redact(once)) || strings.Contains(Redact(once), "@") {
			t.Errorf("Redact(%q) = %q", once, Redact(once))
		}
	})
}
