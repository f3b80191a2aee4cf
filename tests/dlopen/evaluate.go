// Go by cgo, linked to the library. usage: evaluate LIBRARY QUESTIONS STATE; server and key come from TYPESAFE_*.
package main

// #include <deemster.h>
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"math"
	"os"
	"unsafe"
)

func ok(status C.int32_t, what string) {
	if status != C.DEEM_OK {
		panic(fmt.Sprintf("%s: %s", what, C.GoString(C.deem_status_name(status))))
	}
}

func text(s string) (*C.char, C.size_t) { return C.CString(s), C.size_t(len(s)) }

func main() {
	var major, minor C.uint32_t
	ok(C.deem_abi_version(&major, &minor, nil), "version")
	fmt.Println("abi", major, minor)

	questions, questionsLen := text(os.Args[2])
	defer C.free(unsafe.Pointer(questions))
	state, stateLen := text(os.Args[3])
	defer C.free(unsafe.Pointer(state))

	var builder *C.deem_question_set_builder
	var set *C.deem_question_set
	var config *C.deem_config
	var client *C.deem_client
	var response *C.deem_response
	ok(C.deem_question_set_builder_new(&builder), "builder")
	ok(C.deem_question_set_builder_json(builder, questions, questionsLen), "questions")
	ok(C.deem_question_set_new(builder, &set), "set")
	ok(C.deem_config_new(&config), "config")
	ok(C.deem_client_new(config, &client), "client")
	ok(C.deem_evaluate_text(client, set, state, stateLen, nil, &response), "evaluate")

	var urgent C.double
	var label *C.char
	var length C.size_t
	ok(C.deem_response_noul(response, 0, &urgent), "noul")
	ok(C.deem_response_choice(response, 1, nil, &label, &length, nil), "choice")
	fmt.Printf("urgent %.6f\nteam %s\n", float64(urgent), C.GoStringN(label, C.int(length)))
	if C.deem_response_noul(response, 1, &urgent) != C.DEEM_E_ABSENT || !math.IsNaN(float64(urgent)) {
		panic("a choice was read as a noul")
	}
	C.deem_response_free(response)
	C.deem_client_free(client)
	C.deem_config_free(config)
	C.deem_question_set_free(set)
	C.deem_question_set_builder_free(builder)
}
