//! Classes of resources by MIME type.

/// What a resource is, from its MIME type, by name (the classes of section 3.5.3.1):
/// contains html, css, javascript or ecmascript, or starts with image/.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MimeClass {
    /// HTML documents.
    Html,
    /// Style sheets.
    Css,
    /// Scripts.
    JavaScript,
    /// Images.
    Image,
    /// Everything else, and unknown types.
    Other,
}

impl MimeClass {
    /// The class of a MIME type.
    pub fn of(mime_type: &str) -> MimeClass {
        let mime = mime_type.to_ascii_lowercase();
        if mime.contains("html") {
            MimeClass::Html
        } else if mime.contains("css") {
            MimeClass::Css
        } else if mime.contains("javascript") || mime.contains("ecmascript") {
            MimeClass::JavaScript
        } else if mime.starts_with("image/") {
            MimeClass::Image
        } else {
            MimeClass::Other
        }
    }

    /// True for what the preloader may request: no documents (section 3.7.5, "Preloading").
    pub fn is_preloaded(self) -> bool {
        matches!(self, MimeClass::Css | MimeClass::JavaScript | MimeClass::Image)
    }
}

/// Which distribution of server processing delays applies where no delay was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerDelayClass {
    /// Style sheets.
    Css,
    /// Images.
    Image,
    /// Scripts.
    JavaScript,
    /// `text/*` that is neither of the above, documents among them.
    Text,
    /// POST requests of any type.
    Post,
    /// Everything else.
    Other,
}

impl ServerDelayClass {
    /// The class of a request.
    pub fn of(method: &str, mime_type: &str) -> ServerDelayClass {
        if method.eq_ignore_ascii_case("POST") {
            return ServerDelayClass::Post;
        }
        match MimeClass::of(mime_type) {
            MimeClass::Css => ServerDelayClass::Css,
            MimeClass::JavaScript => ServerDelayClass::JavaScript,
            MimeClass::Image => ServerDelayClass::Image,
            _ if mime_type.to_ascii_lowercase().starts_with("text/") => ServerDelayClass::Text,
            _ => ServerDelayClass::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mime_types_map_to_classes() {
        for (mime, class, delays) in [
            ("text/html", MimeClass::Html, ServerDelayClass::Text),
            ("application/xhtml+xml", MimeClass::Html, ServerDelayClass::Other),
            ("text/css", MimeClass::Css, ServerDelayClass::Css),
            ("application/x-javascript", MimeClass::JavaScript, ServerDelayClass::JavaScript),
            ("text/ecmascript", MimeClass::JavaScript, ServerDelayClass::JavaScript),
            ("Image/PNG", MimeClass::Image, ServerDelayClass::Image),
            ("img/png", MimeClass::Other, ServerDelayClass::Other),
            ("text/plain", MimeClass::Other, ServerDelayClass::Text),
            ("", MimeClass::Other, ServerDelayClass::Other),
        ] {
            assert_eq!(MimeClass::of(mime), class, "{mime}");
            assert_eq!(ServerDelayClass::of("GET", mime), delays, "{mime}");
            assert_eq!(ServerDelayClass::of("POST", mime), ServerDelayClass::Post, "{mime}");
        }
    }
}
