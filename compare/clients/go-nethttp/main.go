// What one would write by hand in Go: net/http and encoding/json.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"compare/protocol"
)

type answer struct {
	Choice        string             `json:"choice"`
	Confidence    float64            `json:"confidence"`
	Probabilities map[string]float64 `json:"probabilities"`
	Noul          float64            `json:"noul"`
}

type reply struct {
	Model   string            `json:"model"`
	Answers map[string]answer `json:"answers"`
}

type client struct {
	setup *protocol.Setup
	http  *http.Client
}

func open(setup *protocol.Setup) (protocol.Client, error) {
	transport := &http.Transport{MaxIdleConns: setup.InFlight, MaxIdleConnsPerHost: setup.InFlight}
	if setup.CA != "" {
		pem, err := os.ReadFile(setup.CA)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	return &client{setup, &http.Client{Transport: transport, Timeout: 10 * time.Second}}, nil
}

func (c *client) ask() (*reply, error) {
	body, err := json.Marshal(struct {
		State     string          `json:"state"`
		Model     string          `json:"model"`
		Questions json.RawMessage `json:"questions"`
	}{c.setup.State, c.setup.Model, c.setup.Questions})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest("POST", c.setup.URL+"/v1/systemone", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.setup.Key)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != 200 {
		return nil, fmt.Errorf("HTTP %d: %.100s", response.StatusCode, data)
	}
	result := &reply{}
	return result, json.Unmarshal(data, result)
}

func (c *client) Call() (string, float64, error) {
	result, err := c.ask()
	if err != nil {
		return "", 0, err
	}
	return result.Answers[c.setup.ChoiceKey].Choice, result.Answers[c.setup.NoulKey].Noul, nil
}

func (c *client) Answer() (map[string]any, error) {
	result, err := c.ask()
	if err != nil {
		return nil, err
	}
	choice := result.Answers[c.setup.ChoiceKey]
	return map[string]any{"model": result.Model, "noul": result.Answers[c.setup.NoulKey].Noul, "choice": choice.Choice,
		"confidence": choice.Confidence, "probabilities": choice.Probabilities}, nil
}

func (c *client) Close() {
	c.http.CloseIdleConnections()
}

func main() {
	protocol.Serve(open, "net/http", strings.TrimPrefix(runtime.Version(), "go"))
}
