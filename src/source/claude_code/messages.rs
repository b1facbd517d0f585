//! Owns user lines that are no prompt: notifications of background work, messages of other agents, prompts that a hook stopped.

/// What a user line's text is, told by how it begins.
#[derive(Debug, PartialEq, Eq)]
pub enum Said<'a> {
    /// Background work ended or an agent stopped.
    Notification(Notification<'a>),
    /// Another agent speaks.
    Agent {
        from: &'a str,
        body: &'a str,
    },
    /// A hook stopped the prompt; its reason.
    StoppedByHook(&'a str),
    /// Text for stop hooks that refused the end of the turn.
    StopFeedback(&'a str),
    Other,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Notification<'a> {
    pub task_id: &'a str,
    pub tool_use_id: &'a str,
    pub status: &'a str,
    pub summary: &'a str,
    pub result: &'a str,
}

/// Reads the text of a whole user message. A person who quotes such words writes something before them.
pub fn read(text: &str) -> Said<'_> {
    let text = text.trim_start();
    if let Some(reason) = text.strip_prefix("Operation stopped by hook:") {
        return Said::StoppedByHook(reason.trim());
    }
    if let Some(reason) = text.strip_prefix("UserPromptSubmit operation blocked by hook:") {
        return Said::StoppedByHook(reason.trim());
    }
    if let Some(feedback) = text.strip_prefix("Stop hook feedback:") {
        return Said::StopFeedback(feedback.trim_start());
    }
    if text.starts_with("<task-notification>") {
        let tag = |name: &str| inside(text, name).unwrap_or("").trim();
        return Said::Notification(Notification {
            task_id: tag("task-id"),
            tool_use_id: tag("tool-use-id"),
            status: tag("status"),
            summary: tag("summary"),
            result: tag("result"),
        });
    }
    let message = text.strip_prefix("Another Claude session sent a message:").map_or(text, str::trim_start);
    if let Some(rest) = message.strip_prefix("<agent-message")
        && let Some((attributes, body)) = rest.split_once('>')
    {
        let from = attributes.split_once("from=\"").and_then(|(_, f)| f.split_once('"')).map_or("", |f| f.0);
        let body = body.rsplit_once("</agent-message>").map_or(body, |b| b.0);
        return Said::Agent { from, body };
    }
    Said::Other
}

/// Text between a tag and the last of its ends: the text itself may hold the end tag.
fn inside<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let open = format!("<{tag}>");
    let from = text.find(&open)? + open.len();
    let rest = text.get(from..)?;
    let to = if tag == "result" { rest.rfind("</result>") } else { rest.find(&format!("</{tag}>")) };
    Some(rest.get(..to.unwrap_or(rest.len())).unwrap_or(rest))
}

/// `… (exit code 0)`, `… failed with exit code 2` in a notification's summary.
pub fn exit_code(summary: &str) -> Option<i64> {
    let at = summary.rfind("exit code ")?;
    let digits = summary.get(at + 10..)?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_start_of_a_whole_message_makes_it_a_record_of_the_program() {
        assert_eq!(read("Operation stopped by hook: no"), Said::StoppedByHook("no"));
        assert_eq!(read("we get this:\nOperation stopped by hook: no"), Said::Other);
        assert_eq!(
            read("Another Claude session sent a message:\n<agent-message from=\"r\">\nVERDICT: REJECT\n</agent-message>"),
            Said::Agent { from: "r", body: "\nVERDICT: REJECT\n" }
        );
        assert_eq!(read("see <agent-message from=\"r\">x</agent-message>"), Said::Other);
        let text = "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>t</tool-use-id>\n<status>completed</status>\n<summary>done (exit code 3)</summary>\n<result>a </result> b</result></task-notification>";
        let Said::Notification(n) = read(text) else { panic!("no notification") };
        assert_eq!((n.task_id, n.tool_use_id, n.status, n.result), ("a1", "t", "completed", "a </result> b"));
        assert_eq!(exit_code(n.summary), Some(3));
        assert_eq!(exit_code("none"), None);
    }
}
