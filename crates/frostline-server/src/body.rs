//! Bodies of requests, read as a whole up to the limit.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;

use crate::refusal::Refusal;

/// How much of a body that is too large is read and dropped, in multiples of the limit. A client that is still sending does not
/// read an answer; if the connection were closed at once, it would never see it.
const DROPPED: usize = 16;

/// Returns a request's body.
///
/// # Errors
/// If it is larger than the limit, or the client stops sending it.
pub(crate) async fn read_body(mut body: Body, most: usize) -> Result<Bytes, Refusal> {
    let (mut read, mut size) = (BytesMut::new(), 0_usize);
    while size <= most.saturating_mul(DROPPED) {
        let Some(frame) = body.frame().await else { break };
        let frame = frame.map_err(|error| Refusal::malformed(format!("the body ends early: {error}")))?;
        let Some(data) = frame.data_ref() else { continue };
        size += data.len();
        if size <= most {
            read.extend_from_slice(data);
        } else {
            read = BytesMut::new();
        }
    }
    if size > most {
        return Err(Refusal::too_large(format!(
            "the body has more than {most} bytes; send fewer sentences at a time"
        )));
    }
    Ok(read.freeze())
}
