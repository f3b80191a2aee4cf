// Package protocol is what every contestant written in Go shares: one JSON object a line in, one a
// line out (README.md has the operations).
package protocol

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Setup is what a client is opened with.
type Setup struct {
	URL        string  `json:"url"`
	Key        string  `json:"key"`
	Model      string  `json:"model"`
	CA         string  `json:"ca"`
	Folder     string  `json:"folder"`
	ChoiceKey  string  `json:"choice_key"`
	NoulKey    string  `json:"noul_key"`
	WantChoice string  `json:"want_choice"`
	WantNoul   float64 `json:"want_noul"`
	Retries    int     `json:"retries"`
	InFlight   int     `json:"in_flight"`
	State      string
	Questions  json.RawMessage
}

// Client is a contestant: Call makes one call and returns the checked answers, Answer the whole one.
type Client interface {
	Call() (choice string, noul float64, err error)
	Answer() (map[string]any, error)
	Close()
}

type meter struct {
	setup    *Setup
	end      time.Time
	calls    int
	mutex    sync.Mutex
	finished []time.Time
	taken    []int64
	failures int
	failure  string
}

func (m *meter) begin() bool {
	if !m.end.IsZero() {
		return time.Now().Before(m.end)
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.calls--
	return m.calls >= 0
}

func (m *meter) loop(client Client) {
	finished, taken := make([]time.Time, 0, 4096), make([]int64, 0, 4096)
	failures, failure := 0, ""
	for m.begin() {
		start := time.Now()
		choice, noul, err := client.Call()
		end := time.Now()
		finished, taken = append(finished, end), append(taken, end.Sub(start).Nanoseconds())
		if err == nil && (noul != m.setup.WantNoul || choice != m.setup.WantChoice) {
			err = fmt.Errorf("wrong answer: %s, %v", choice, noul)
		}
		if err != nil {
			failures++
			failure = err.Error()
		}
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.finished, m.taken = append(m.finished, finished...), append(m.taken, taken...)
	m.failures += failures
	if failure != "" {
		m.failure = failure
	}
}

func (m *meter) run(client Client, inFlight int) {
	var group sync.WaitGroup
	for range inFlight {
		group.Add(1)
		go func() {
			defer group.Done()
			m.loop(client)
		}()
	}
	group.Wait()
}

func cpu() int64 {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return (used.Utime.Nano() + used.Stime.Nano()) / 1000
}

func (m *meter) measure(client Client, inFlight, most int) map[string]any {
	before, start := cpu(), time.Now()
	m.run(client, inFlight)
	used, last := cpu()-before, start
	for _, end := range m.finished {
		if end.After(last) {
			last = end
		}
	}
	buckets := make([]int, last.Sub(start)/(100*time.Millisecond)+1)
	for _, end := range m.finished {
		buckets[end.Sub(start)/(100*time.Millisecond)]++
	}
	stride := 1
	if most > 0 && len(m.taken) > most {
		stride = (len(m.taken) + most - 1) / most
	}
	samples := []int64{}
	for i := 0; i < len(m.taken); i += stride {
		samples = append(samples, m.taken[i])
	}
	return map[string]any{
		"calls": len(m.taken), "failures": m.failures, "error": cut(m.failure), "elapsed_ns": last.Sub(start).Nanoseconds(),
		"cpu_us": used, "samples": samples, "buckets": buckets,
	}
}

func cut(text string) string {
	return text[:min(len(text), 400)]
}

func open(line []byte, factory func(*Setup) (Client, error)) (*Setup, Client, map[string]any) {
	setup := &Setup{}
	start := time.Now()
	err := json.Unmarshal(line, setup)
	state, stateErr := os.ReadFile(filepath.Join(setup.Folder, "state.txt"))
	questions, questionsErr := os.ReadFile(filepath.Join(setup.Folder, "questions.json"))
	if err == nil {
		err = stateErr
	}
	if err == nil {
		err = questionsErr
	}
	setup.State, setup.Questions = string(state), questions
	var client Client
	if err == nil {
		client, err = factory(setup)
	}
	if err != nil {
		return setup, nil, map[string]any{"open_us": 0, "error": cut(err.Error())}
	}
	return setup, client, map[string]any{"open_us": time.Since(start).Microseconds(), "error": ""}
}

// Serve reads operations until standard input ends.
func Serve(factory func(*Setup) (Client, error), library, version string) {
	var client Client
	var setup *Setup
	out := bufio.NewWriter(os.Stdout)
	say := func(reply any) {
		line, err := json.Marshal(reply)
		if err != nil {
			line, _ = json.Marshal(map[string]string{"error": err.Error()})
		}
		_, _ = out.Write(append(line, '\n'))
		_ = out.Flush()
	}
	say(map[string]any{"library": library, "version": version, "runtime": "Go " + strings.TrimPrefix(runtime.Version(), "go"), "import_us": 0})
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var line struct {
			Op       string  `json:"op"`
			Calls    int     `json:"calls"`
			InFlight int     `json:"in_flight"`
			Samples  int     `json:"samples"`
			Warm     float64 `json:"warm_s"`
			Seconds  float64 `json:"seconds"`
		}
		_ = json.Unmarshal(in.Bytes(), &line)
		switch line.Op {
		case "open":
			var reply map[string]any
			setup, client, reply = open(in.Bytes(), factory)
			say(reply)
		case "close":
			client.Close()
			say(struct{}{})
		case "answer":
			answer, err := client.Answer()
			if err != nil {
				answer = map[string]any{"error": cut(err.Error())}
			}
			say(answer)
		case "verdict":
			start := time.Now()
			_, noul, err := client.Call()
			reply := map[string]any{"taken_ns": time.Since(start).Nanoseconds()}
			if err != nil {
				reply["error"] = cut(err.Error())
			} else {
				reply["noul"] = noul
			}
			say(reply)
		case "latency":
			say((&meter{setup: setup, calls: line.Calls}).measure(client, 1, 0))
		case "load":
			warm := &meter{setup: setup, end: time.Now().Add(time.Duration(line.Warm * 1e9))}
			warm.run(client, line.InFlight)
			reply := (&meter{setup: setup, end: time.Now().Add(time.Duration(line.Seconds * 1e9))}).measure(client, line.InFlight, line.Samples)
			reply["warm_calls"] = len(warm.taken)
			say(reply)
		}
	}
}
