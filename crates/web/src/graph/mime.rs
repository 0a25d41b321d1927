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
    /// Of a MIME type. Servers write many variants (`application/x-javascript`,
    /// `text/ecmascript`) and some misprints, so a part of the name decides.
    pub fn of(mime_type: &str) -> MimeClass {
        let mime_type = mime_type.to_ascii_lowercase();
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

    /// True for what the preloader may request: no documents (thesis section 3.7.5, "Preloading").
    pub fn is_preloaded(self) -> bool {
        matches!(self, MimeClass::Css | MimeClass::Javascript | MimeClass::Image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_name_decide() {
        for (mime, class) in [
            ("text/html", MimeClass::Html),
            ("application/xhtml+xml", MimeClass::Html),
            ("text/css", MimeClass::Css),
            ("application/x-javascript", MimeClass::Javascript),
            ("text/ecmascript", MimeClass::Javascript),
            ("Image/PNG", MimeClass::Image),
            ("img/png", MimeClass::Other),
            ("text/plain", MimeClass::Other),
            ("", MimeClass::Other),
        ] {
            assert_eq!(MimeClass::of(mime), class, "{mime}");
        }
    }
}
