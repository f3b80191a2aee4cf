// Rust with its standard library alone. usage: evaluate LIBRARY QUESTIONS STATE; server and key come from TYPESAFE_*.
use std::ffi::{c_char, c_int, c_void, CString};
use std::ptr::{null, null_mut};

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

type Handle = *mut c_void;
type New = unsafe extern "C" fn(*mut Handle) -> i32;
type NewFrom = unsafe extern "C" fn(Handle, *mut Handle) -> i32;
type Text = unsafe extern "C" fn(Handle, *const u8, usize) -> i32;
type Free = unsafe extern "C" fn(Handle);
type Version = unsafe extern "C" fn(*mut u32, *mut u32, *mut u32) -> i32;
type Evaluate = unsafe extern "C" fn(Handle, Handle, *const u8, usize, *const c_void, *mut Handle) -> i32;
type Noul = unsafe extern "C" fn(Handle, usize, *mut f64) -> i32;
type Choice = unsafe extern "C" fn(Handle, usize, *mut i32, *mut *const u8, *mut usize, *mut f64) -> i32;

/// A function of the library, as the type says it is.
unsafe fn function<F>(library: Handle, name: &str) -> F {
    let text = CString::new(name).unwrap();
    let found = dlsym(library, text.as_ptr());
    assert!(!found.is_null(), "no {name}");
    std::mem::transmute_copy(&found)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (questions, state) = (&arguments[2], &arguments[3]);
    unsafe {
        let path = CString::new(arguments[1].as_str()).unwrap();
        let library = dlopen(path.as_ptr(), 2);
        assert!(!library.is_null());
        let (mut major, mut minor) = (0, 0);
        assert_eq!(function::<Version>(library, "deem_abi_version")(&mut major, &mut minor, null_mut()), 0);
        println!("abi {major} {minor}");
        let (mut builder, mut set, mut config) = (null_mut(), null_mut(), null_mut());
        let (mut client, mut response) = (null_mut(), null_mut());
        assert_eq!(function::<New>(library, "deem_question_set_builder_new")(&mut builder), 0);
        let json = function::<Text>(library, "deem_question_set_builder_json");
        assert_eq!(json(builder, questions.as_ptr(), questions.len()), 0);
        assert_eq!(function::<NewFrom>(library, "deem_question_set_new")(builder, &mut set), 0);
        assert_eq!(function::<New>(library, "deem_config_new")(&mut config), 0);
        assert_eq!(function::<NewFrom>(library, "deem_client_new")(config, &mut client), 0);
        let evaluate = function::<Evaluate>(library, "deem_evaluate_text");
        assert_eq!(evaluate(client, set, state.as_ptr(), state.len(), null(), &mut response), 0);
        let noul = function::<Noul>(library, "deem_response_noul");
        let choice = function::<Choice>(library, "deem_response_choice");
        let (mut urgent, mut label, mut length) = (0.0, null(), 0);
        assert_eq!(noul(response, 0, &mut urgent), 0);
        assert_eq!(choice(response, 1, null_mut(), &mut label, &mut length, null_mut()), 0);
        let team = std::str::from_utf8(std::slice::from_raw_parts(label, length)).unwrap();
        println!("urgent {urgent:.6}\nteam {team}");
        assert!(noul(response, 1, &mut urgent) == 6 && urgent.is_nan());
        for (name, handle) in [("response", response), ("client", client), ("config", config),
                               ("question_set", set), ("question_set_builder", builder)] {
            function::<Free>(library, &format!("deem_{name}_free"))(handle);
        }
    }
}
