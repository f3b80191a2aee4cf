//! A Rust program that opens the library itself, with nothing but std. usage: rust_client LIBRARY URL
use std::ffi::{c_char, c_int, c_ulong, c_void, CString};
use std::{env, mem, ptr, slice, str};

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn poll(fds: *mut PollFd, count: c_ulong, timeout: c_int) -> c_int;
}

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: i16,
    revents: i16,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Answer {
    question: i32,
    kind: i32,
    status: i32,
    flags: u32,
    value: f64,
    confidence: f64,
    chosen: i32,
    top: i32,
    first_probability: u32,
    probability_count: u32,
    reserved: [u64; 2],
}

type Handle = *mut c_void;
const NOUL: i32 = 1;
const CHOICE: i32 = 2;
const TEXT: i32 = 2;
const POLLIN: i16 = 1;
const RTLD_NOW: c_int = 2;
const STATE: &str = "The heating has failed, send somebody now.";

/// The functions in use, each looked up by its name.
macro_rules! library {
    ($($name:ident($($kind:ty),*) $(-> $result:ty)?;)*) => {
        struct Library { $($name: unsafe extern "C" fn($($kind),*) $(-> $result)?,)* }
        impl Library {
            unsafe fn open(path: &str) -> Library {
                let path = CString::new(path).unwrap();
                let library = dlopen(path.as_ptr(), RTLD_NOW);
                assert!(!library.is_null(), "the library cannot be opened");
                Library { $($name: {
                    let name = CString::new(stringify!($name)).unwrap();
                    let symbol = dlsym(library, name.as_ptr());
                    assert!(!symbol.is_null(), "no function {}", stringify!($name));
                    mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) $(-> $result)?>(symbol)
                },)* }
            }
        }
    };
}

library! {
    deem_abi_version(*mut u32, *mut u32, *mut u32) -> i32;
    deem_question_set_builder_new(*mut Handle) -> i32;
    deem_question_set_builder_free(Handle);
    deem_question_set_builder_add(Handle, i32, *const u8, usize, i32, *const u8, usize) -> i32;
    deem_question_set_builder_option(Handle, *const u8, usize, i32, *const u8, usize) -> i32;
    deem_question_set_new(Handle, *mut Handle) -> i32;
    deem_question_set_free(Handle);
    deem_config_new(*mut Handle) -> i32;
    deem_config_free(Handle);
    deem_config_set_api_key(Handle, *const u8, usize) -> i32;
    deem_config_set_base_url(Handle, *const u8, usize) -> i32;
    deem_client_new(Handle, *mut Handle) -> i32;
    deem_client_free(Handle);
    deem_client_cancel(Handle, u64) -> i32;
    deem_evaluate_text(Handle, Handle, *const u8, usize, Handle, *mut Handle) -> i32;
    deem_submit_text(Handle, Handle, *const u8, usize, Handle, *mut u64) -> i32;
    deem_client_fd(Handle, *mut i32) -> i32;
    deem_client_step(Handle) -> i32;
    deem_client_next(Handle, *mut u64, *mut Handle) -> i32;
    deem_response_free(Handle);
    deem_response_code(Handle) -> i32;
    deem_response_noul(Handle, usize, *mut f64) -> i32;
    deem_response_choice(Handle, usize, *mut i32, *mut *const u8, *mut usize, *mut f64) -> i32;
    deem_response_answers(Handle, *mut Answer, usize, usize, *mut usize) -> i32;
}

#[track_caller]
fn must(status: i32) {
    assert_eq!(status, 0, "status");
}

fn number(value: f64) -> String {
    if value.is_nan() { "null".to_string() } else { value.to_string() }
}

unsafe fn records(lib: &Library, response: Handle) -> String {
    let (mut room, mut written) = ([Answer::default(); 2], 0);
    must((lib.deem_response_answers)(response, room.as_mut_ptr(), mem::size_of::<Answer>(), 2, &mut written));
    let rows = room[..written].iter().map(|r| {
        assert_eq!(r.reserved, [0, 0]);
        format!("[{},{},{},{},{},{},{},{},{},{}]", r.question, r.kind, r.status, r.flags, number(r.value),
                number(r.confidence), r.chosen, r.top, r.first_probability, r.probability_count)
    });
    format!("[{}]", rows.collect::<Vec<_>>().join(","))
}

unsafe fn questions(lib: &Library) -> Handle {
    let (mut builder, mut set) = (ptr::null_mut(), ptr::null_mut());
    must((lib.deem_question_set_builder_new)(&mut builder));
    for (kind, key, words) in [(NOUL, "urgent", "Is help needed right away?"), (CHOICE, "team", "Who should take it?")] {
        must((lib.deem_question_set_builder_add)(builder, kind, key.as_ptr(), key.len(), TEXT, words.as_ptr(), words.len()));
    }
    for (label, words) in [("Büro", "Money, invoices, refunds"), ("Wärme", "Heating and faults")] {
        must((lib.deem_question_set_builder_option)(builder, label.as_ptr(), label.len(), TEXT, words.as_ptr(), words.len()));
    }
    must((lib.deem_question_set_new)(builder, &mut set));
    (lib.deem_question_set_builder_free)(builder);
    set
}

unsafe fn client(lib: &Library, url: &str) -> Handle {
    let (mut config, mut client) = (ptr::null_mut(), ptr::null_mut());
    must((lib.deem_config_new)(&mut config));
    must((lib.deem_config_set_api_key)(config, "key".as_ptr(), 3));
    must((lib.deem_config_set_base_url)(config, url.as_ptr(), url.len()));
    must((lib.deem_client_new)(config, &mut client));
    (lib.deem_config_free)(config);
    client
}

unsafe fn run(lib: &Library, url: &str) {
    let (mut major, mut minor, mut oldest) = (9, 9, 9);
    must((lib.deem_abi_version)(&mut major, &mut minor, &mut oldest));
    assert!(major == 0 && oldest <= 1 && minor >= 1, "the library serves another ABI");
    let (set, client, mut response) = (questions(lib), client(lib, url), ptr::null_mut());
    must((lib.deem_client_cancel)(client, u64::MAX - 1)); // unknown: no error

    must((lib.deem_evaluate_text)(client, set, STATE.as_ptr(), STATE.len(), ptr::null_mut(), &mut response));
    let (mut noul, mut option, mut label, mut len, mut confidence) = (0.0, 0, ptr::null(), 0, 0.0);
    must((lib.deem_response_noul)(response, 0, &mut noul));
    must((lib.deem_response_choice)(response, 1, &mut option, &mut label, &mut len, &mut confidence));
    let label = str::from_utf8(slice::from_raw_parts(label, len)).unwrap();
    let line = format!("{{\"noul\":{noul},\"label\":\"{label}\",\"confidence\":{confidence},\"records\":{}",
                       records(lib, response));

    let (mut fd, mut id, mut done) = (-1, 0, 0);
    must((lib.deem_client_fd)(client, &mut fd));
    must((lib.deem_submit_text)(client, set, STATE.as_ptr(), STATE.len(), ptr::null_mut(), &mut id));
    while done == 0 {
        let mut wait = PollFd { fd, events: POLLIN, revents: 0 };
        assert_eq!(poll(&mut wait, 1, 10000), 1, "nothing came within 10 seconds");
        assert_eq!(wait.revents, POLLIN);
        must((lib.deem_client_step)(client));
        must((lib.deem_client_next)(client, &mut done, &mut response));
    }
    assert_eq!(done, id, "another call finished");
    must((lib.deem_response_code)(response));
    println!("{line},\"submitted\":{}}}", records(lib, response));
    (lib.deem_response_free)(response);
    (lib.deem_client_free)(client);
    (lib.deem_question_set_free)(set);
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    unsafe { run(&Library::open(&arguments[1]), &arguments[2]) }
}
