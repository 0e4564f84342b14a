//! The protocol of NATS, as far as one must know it to tell one thing that is said from the next.

/// One thing that was said, by a client or by a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// All of it.
    pub(super) bytes: Vec<u8>,
    /// Its first line in words; the first in capitals.
    pub(super) words: Vec<String>,
    /// Where its body begins.
    body: usize,
}

impl Frame {
    pub(super) fn is(&self, verb: &str) -> bool {
        self.words.first().is_some_and(|word| word == verb)
    }

    /// Headers and payload.
    pub(super) fn body(&self) -> &[u8] {
        let end = self.bytes.len().saturating_sub(2).max(self.body);
        &self.bytes[self.body..end]
    }

    /// Where an answer to what a client publishes would go.
    pub(super) fn reply(&self) -> Option<&str> {
        let with_reply = self.is("PUB") && self.words.len() == 4 || self.is("HPUB") && self.words.len() == 5;
        with_reply.then(|| self.words[2].as_str())
    }

    /// An append by compare-and-set: it says which sequence must be the last.
    pub(super) fn is_append(&self) -> bool {
        const HEADER: &[u8] = b"nats-expected-last-sequence:";
        let headers: usize =
            if self.is("HPUB") { self.words[self.words.len() - 2].parse().unwrap_or(0) } else { 0 };
        let headers = self.body().get(..headers).unwrap_or_default();
        headers
            .split(|&byte| byte == b'\n')
            .any(|line| line.get(..HEADER.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(HEADER)))
    }

    /// INFO without the addresses of other servers, so that clients stay where they are; anything else as it is.
    pub(super) fn without_other_servers(self) -> Vec<u8> {
        let parsed = self.is("INFO").then(|| serde_json::from_slice(self.bytes.get(4..).unwrap_or_default()));
        match parsed {
            Some(Ok(serde_json::Value::Object(mut info))) => {
                info.remove("connect_urls");
                format!("INFO {}\r\n", serde_json::Value::Object(info)).into_bytes()
            }
            _ => self.bytes,
        }
    }
}

/// Makes frames of bytes as they come.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: Vec<u8>,
}

impl Frames {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame, once all of it is there.
    pub(super) fn next(&mut self) -> Option<Frame> {
        let line = self.bytes.windows(2).position(|pair| pair == b"\r\n")?;
        let mut words: Vec<String> =
            String::from_utf8_lossy(&self.bytes[..line]).split_ascii_whitespace().map(Into::into).collect();
        words.iter_mut().take(1).for_each(|verb| verb.make_ascii_uppercase());
        let has_body = words.first().is_some_and(|verb| matches!(&verb[..], "PUB" | "HPUB" | "MSG" | "HMSG"));
        let body = line + 2;
        let length = match has_body {
            true => words.last().and_then(|word| word.parse::<usize>().ok()).unwrap_or(0) + 2,
            false => 0,
        };
        if self.bytes.len() < body + length {
            return None;
        }
        let rest = self.bytes.split_off(body + length);
        let bytes = std::mem::replace(&mut self.bytes, rest);
        Some(Frame { bytes, words, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_pieces_frames_are_the_same() {
        let headers = "NATS/1.0\r\nNats-Expected-Last-Sequence: 4\r\n\r\n";
        let append = format!("HPUB log in.1 {} {}\r\n{headers}a\r\nb\r\n", headers.len(), headers.len() + 4);
        let said = format!("connect {{}}\r\nPING\r\n{append}PUB a in.2 2\r\n\r\n\r\nSUB in.> 1\r\n");
        for piece in [1, 2, 7, 1000] {
            let (mut frames, mut heard) = (Frames::default(), Vec::new());
            for bytes in said.as_bytes().chunks(piece) {
                frames.push(bytes);
                heard.extend(std::iter::from_fn(|| frames.next()));
            }
            let verbs: Vec<&str> = heard.iter().map(|frame| &frame.words[0][..]).collect();
            assert_eq!(verbs, ["CONNECT", "PING", "HPUB", "PUB", "SUB"]);
            let appends: Vec<bool> = heard.iter().map(Frame::is_append).collect();
            assert_eq!(appends, [false, false, true, false, false]);
            assert_eq!((heard[2].reply(), heard[3].reply()), (Some("in.1"), Some("in.2")));
            assert!(heard[2].body().ends_with(b"\r\n\r\na\r\nb") && heard[3].body() == b"\r\n");
            assert_eq!(heard.concat_bytes(), said.as_bytes());
        }
    }

    trait Concat {
        fn concat_bytes(&self) -> Vec<u8>;
    }

    impl Concat for Vec<Frame> {
        fn concat_bytes(&self) -> Vec<u8> {
            self.iter().flat_map(|frame| frame.bytes.clone()).collect()
        }
    }

    #[test]
    fn info_names_no_other_servers() {
        let mut frames = Frames::default();
        frames.push(b"INFO {\"server_name\":\"n1\",\"connect_urls\":[\"a:1\"]} \r\n");
        let said = String::from_utf8(frames.next().unwrap().without_other_servers()).unwrap();
        assert_eq!(said, "INFO {\"server_name\":\"n1\"}\r\n");
    }
}
