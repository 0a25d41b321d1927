//! The one place where errors of the engine become Python exceptions.

use std::error::Error;

use pyo3::PyTypeInfo;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(loadpath, LoadpathError, PyException, "The user's input cannot be worked with.");
create_exception!(loadpath, GraphError, LoadpathError, "A page graph or delay file is wrong.");
create_exception!(loadpath, TransformError, LoadpathError, "A page cannot be changed like this.");
create_exception!(loadpath, ScenarioError, LoadpathError, "A parameter is wrong.");
create_exception!(loadpath, CorpusError, LoadpathError, "A corpus cannot be imported.");
create_exception!(loadpath, LinkError, LoadpathError, "A link cannot be set up, or has failed.");
create_exception!(loadpath, OriginError, LoadpathError, "An archive cannot be served.");

/// A page graph or server-delay file is wrong.
pub fn graph_error(error: &dyn Error) -> PyErr {
    with_hint::<GraphError>(error)
}

/// A transform is wrong, or does not fit the page.
pub fn transform_error(error: &dyn Error) -> PyErr {
    with_hint::<TransformError>(error)
}

/// A file of a corpus is wrong.
pub fn corpus_error(error: &dyn Error) -> PyErr {
    with_hint::<CorpusError>(error)
}

/// A scenario is wrong.
pub fn scenario_error(error: &dyn Error) -> PyErr {
    with_hint::<ScenarioError>(error)
}

/// A link cannot be set up, or has failed.
#[cfg(target_os = "linux")]
pub fn link_error(error: &dyn Error) -> PyErr {
    with_hint::<LinkError>(error)
}

/// An archive cannot be served.
#[cfg(target_os = "linux")]
pub fn origin_error(error: &dyn Error) -> PyErr {
    with_hint::<OriginError>(error)
}

/// What follows "hint: " in the message becomes a note of the exception (PEP 678).
fn with_hint<E: PyTypeInfo>(error: &dyn Error) -> PyErr {
    let text = with_causes(error);
    let Some((message, hint)) = text.split_once("hint: ") else {
        return PyErr::new::<E, _>(text);
    };
    let exception =
        PyErr::new::<E, _>(message.trim_end_matches([' ', '\n', ';', ',', '.']).to_owned());
    Python::attach(|py| {
        exception
            .value(py)
            .call_method1("add_note", (format!("hint: {hint}"),))
            .expect("exceptions take notes since Python 3.11");
    });
    exception
}

/// The message and those of its causes that it does not repeat already.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}
