//! HTTP/1.1. A connection has one response at a time, so that there is nothing to order on it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::server::{IDLE, MAX_REQUEST_BODY_BYTES, Shared};

/// Of a request's head, as nginx' `large_client_header_buffers` have it in all.
const MAX_HEAD_BYTES: usize = 32 << 10;
const MAX_HEADERS: usize = 200;

/// Serves a connection until it is closed.
pub(crate) async fn serve<T>(io: T, shared: Arc<Shared>, is_tls: bool)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let protocol = if is_tls { "h1-tls" } else { "h1" };
    let connection = shared.counters.connection(protocol);
    let service = service_fn(|request| answer(request, &shared, protocol, connection, is_tls));
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(io), service);
    if let Err(error) = served.await {
        // A browser closes connections as it likes.
        if !error.is_incomplete_message() && !error.is_closed() && !error.is_canceled() {
            shared.counters.error(format!("{protocol}: {error}"));
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    shared: &Shared,
    protocol: &'static str,
    connection: u64,
    is_tls: bool,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, mut body) = request.into_parts();
    let mut left = MAX_REQUEST_BODY_BYTES;
    let read = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return false;
            }
        }
        true
    };
    if !tokio::time::timeout(BODY_TIME, read).await.unwrap_or(false) {
        shared.counters.error(format!("{protocol}: request body too large or too slow"));
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
        response
            .headers_mut()
            .insert(header::CONNECTION, header::HeaderValue::from_static("close"));
        return Ok(response);
    }
    let answer = shared.answer(&head, protocol, connection, is_tls);
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}

/// What a request's body may take.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(60);
