// A Go program over the C header itself, by cgo; the library is linked. usage: go_client LIBRARY URL
package main

/*
#include <poll.h>

#include "deemster.h"
*/
import "C"

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"unsafe"
)

const state = "The heating has failed, send somebody now."

func must(status C.int32_t) {
	if status != C.DEEM_OK {
		panic(C.GoString(C.deem_status_name(status)))
	}
}

// text gives the bytes of a text and their number; the library copies them before its call returns.
func text(words string) (*C.char, C.size_t) {
	bytes := []byte(words)
	return (*C.char)(unsafe.Pointer(&bytes[0])), C.size_t(len(bytes))
}

func records(response *C.deem_response) [][]any {
	var room [2]C.deem_answer
	var written C.size_t
	must(C.deem_response_answers(response, unsafe.Pointer(&room), C.size_t(unsafe.Sizeof(room[0])), 2, &written))
	rows := [][]any{}
	for _, r := range room[:written] {
		var confidence any
		if !math.IsNaN(float64(r.confidence)) {
			confidence = r.confidence
		}
		rows = append(rows, []any{r.question, r.kind, r.status, r.flags, r.value, confidence, r.chosen, r.top,
			r.first_probability, r.probability_count})
	}
	return rows
}

func questions() *C.deem_question_set {
	var builder *C.deem_question_set_builder
	var set *C.deem_question_set
	must(C.deem_question_set_builder_new(&builder))
	defer C.deem_question_set_builder_free(builder)
	add := func(kind C.int32_t, key, instructions string) {
		k, kLen := text(key)
		i, iLen := text(instructions)
		must(C.deem_question_set_builder_add(builder, kind, k, kLen, C.DEEM_FORM_TEXT, i, iLen))
	}
	option := func(label, description string) {
		l, lLen := text(label)
		d, dLen := text(description)
		must(C.deem_question_set_builder_option(builder, l, lLen, C.DEEM_FORM_TEXT, d, dLen))
	}
	add(C.DEEM_NOUL, "urgent", "Is help needed right away?")
	add(C.DEEM_CHOICE, "team", "Who should take it?")
	option("Büro", "Money, invoices, refunds")
	option("Wärme", "Heating and faults")
	must(C.deem_question_set_new(builder, &set))
	return set
}

func connect(url string) *C.deem_client {
	var config *C.deem_config
	var client *C.deem_client
	must(C.deem_config_new(&config))
	defer C.deem_config_free(config)
	key, keyLen := text("key")
	must(C.deem_config_set_api_key(config, key, keyLen))
	base, baseLen := text(url)
	must(C.deem_config_set_base_url(config, base, baseLen))
	must(C.deem_client_new(config, &client))
	return client
}

func main() {
	var major, minor, oldest C.uint32_t
	must(C.deem_abi_version(&major, &minor, &oldest))
	if major != C.DEEM_ABI_MAJOR || oldest > C.DEEM_ABI_MINOR || minor < C.DEEM_ABI_MINOR {
		panic("the library serves another ABI")
	}
	set := questions()
	defer C.deem_question_set_free(set)
	client := connect(os.Args[2])
	defer C.deem_client_free(client)
	must(C.deem_client_cancel(client, math.MaxUint64-1)) // unknown: no error

	var response *C.deem_response
	s, sLen := text(state)
	must(C.deem_evaluate_text(client, set, s, sLen, nil, &response))
	var noul, confidence C.double
	var option C.int32_t
	var label *C.char
	var labelLen C.size_t
	must(C.deem_response_noul(response, 0, &noul))
	must(C.deem_response_choice(response, 1, &option, &label, &labelLen, &confidence))
	answers := map[string]any{"noul": noul, "label": C.GoStringN(label, C.int(labelLen)), "confidence": confidence,
		"records": records(response)}

	var fd C.int32_t
	var id, done C.uint64_t
	must(C.deem_client_fd(client, &fd))
	must(C.deem_submit_text(client, set, s, sLen, nil, &id))
	for done == 0 {
		wait := C.struct_pollfd{fd: C.int(fd), events: C.POLLIN}
		if C.poll(&wait, 1, 10000) == 0 { // a signal of Go's own scheduler may end it early
			panic("nothing came within 10 seconds")
		}
		must(C.deem_client_step(client))
		must(C.deem_client_next(client, &done, &response))
	}
	defer C.deem_response_free(response)
	must(C.deem_response_code(response))
	if done != id {
		panic("another call finished")
	}
	answers["submitted"] = records(response)
	line, err := json.Marshal(answers)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}
