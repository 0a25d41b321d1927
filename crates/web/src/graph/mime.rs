//! Classes of MIME type.

/// What a browser does with a resource, in the order of urgency of thesis section 3.5.3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MimeClass {
    /// Documents.
    Html,
    /// Style sheets.
    Css,
    /// Scripts.
    Javascript,
    /// Images.
    Image,
    /// Fonts, data, media, unknown.
    Other,
}

impl MimeClass {
    /// Of a MIME type in lower case. Servers write many variants (`application/x-javascript`,
    /// `text/ecmascript`) and some misprints, so a part of the name decides.
    pub fn of(mime_type: &str) -> MimeClass {
        if mime_type.contains("html") {
            MimeClass::Html
        } else if mime_type.contains("css") {
            MimeClass::Css
        } else if mime_type.contains("javascript") || mime_type.contains("ecmascript") {
            MimeClass::Javascript
        } else if mime_type.starts_with("image/") {
            MimeClass::Image
        } else {
            MimeClass::Other
        }
    }
}
