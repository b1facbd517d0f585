//! Owns the reading of a hook's shell command as far as a name needs it: which program or script does the work. Nothing is executed.

/// What a command comes down to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// Path or name of the script or program.
    Path(String),
    /// A status message that stands in place of the command.
    Message(String),
}

/// Nested `sh -c` texts followed.
const MAX_DEPTH: usize = 4;
/// Bytes of a command that are looked at: beyond that it is generated text.
const MAX_BYTES: usize = 16 << 10;

/// The program of a command: a script file anywhere in it before a plain program, the first program before the later ones.
/// `None` for a command of shell words only.
pub fn program_of(command: &str) -> Option<Program> {
    let command = command.trim();
    let command = &command[..command.floor_char_boundary(MAX_BYTES)];
    let message = command.ends_with("...") || command.ends_with('…');
    if message && command.contains(' ') && !command.contains(['/', '$', '=', '|', ';', '"']) {
        return Some(Program::Message(command.to_owned()));
    }
    let mut found = Found::default();
    search(command, 0, &mut found);
    found.script.or(found.program).map(Program::Path)
}

/// First program a shell command runs (`cargo` of `cd x && RUST_LOG=info cargo test`), never its arguments; commands that only change
/// the shell's own state are passed over. `None` where there is no program.
pub fn first_program(command: &str) -> Option<String> {
    const STATE: &[&str] = &["cd", "pushd", "popd", "set", "export", "unset", "source", ".", "Set-Location", "sl", "umask", "alias"];
    let command = &command[..command.floor_char_boundary(MAX_BYTES)];
    let mut only_state = None;
    for part in tokens(&without_here_texts(command)).split(|t| t.separator) {
        let mut words = part.iter().filter(|t| !KEYWORDS.contains(&t.text.as_str()) && !is_redirection(&t.text)).peekable();
        let mut program = None;
        while let Some(word) = words.next() {
            let text = word.text.trim_start_matches(['(', '{']);
            if text.is_empty() || is_assignment(text) {
                continue;
            }
            // PowerShell's `$name = …`: what is run stands behind it.
            if text.starts_with('$') && words.peek().is_some_and(|w| w.text == "=") {
                words.next();
                continue;
            }
            // A quoted word is a program only as a path; else it is a text that is printed.
            program = Some(base(text)).filter(|name| is_program_name(name) && (!word.quoted || text.contains(['/', '\\'])));
            break;
        }
        let Some(name) = program else { continue };
        if !STATE.contains(&name) {
            return Some(name.to_owned());
        }
        only_state.get_or_insert(name.to_owned());
    }
    only_state
}

#[derive(Default)]
struct Found {
    script: Option<String>,
    program: Option<String>,
}

fn search(command: &str, depth: usize, found: &mut Found) {
    let tokens = tokens(&without_here_texts(command));
    for part in tokens.split(|t| t.separator) {
        if found.script.is_some() {
            return;
        }
        simple(part, depth, found);
    }
}

#[derive(Debug, Default, Clone)]
struct Token {
    text: String,
    separator: bool,
    /// Whether a part of it stood in quotes.
    quoted: bool,
}

/// Whether the text can be the name of a program: a name taken from a command must never be a piece of prose.
fn is_program_name(name: &str) -> bool {
    name.len() <= 60
        && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+'))
        && name.chars().any(|c| c.is_ascii_alphabetic())
}

/// The text without PowerShell's here-strings (`@"` to `"@`) and the shell's here-documents (`<<EOF` to `EOF`): they hold prose.
fn without_here_texts(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut until: Option<String> = None;
    for line in text.split_inclusive('\n') {
        if let Some(end) = &until {
            let trimmed = line.trim();
            if trimmed == end || (end.ends_with('@') && trimmed.starts_with(end.as_str())) {
                // What follows the closing mark is code again.
                out.push_str(trimmed.get(end.len()..).unwrap_or(""));
                out.push('\n');
                until = None;
            }
            continue;
        }
        let bare = line.trim_end();
        if let Some(before) = bare.strip_suffix("@'").or_else(|| bare.strip_suffix("@\"")) {
            until = Some(if bare.ends_with('\'') { "'@" } else { "\"@" }.to_owned());
            out.push_str(before);
            continue;
        }
        if let Some((_, rest)) = bare.split_once("<<").filter(|(_, rest)| !rest.starts_with('<')) {
            let mark: String =
                rest.trim_start_matches(['-', ' ', '\'', '"', '\\']).chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !mark.is_empty() {
                until = Some(mark);
            }
        }
        out.push_str(line);
    }
    out
}

/// Splits shell text into words and separators. Quotes are removed; `\` escapes only what needs it, so that Windows paths stay whole.
fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut quote: Option<char> = None;
    let mut chars = text.chars().peekable();
    let end_word = |word: &mut String, quoted: &mut bool, out: &mut Vec<Token>| {
        if !word.is_empty() || *quoted {
            out.push(Token { text: std::mem::take(word), separator: false, quoted: *quoted });
        }
        *quoted = false;
    };
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None | Some('"'), '\\') if chars.peek().is_some_and(|n| matches!(n, '"' | '\'' | '\\' | '$' | ' ' | '`')) => {
                word.extend(chars.next());
            }
            (Some(_), c) => word.push(c),
            (None, '#') if word.is_empty() && !quoted => {
                // A comment, to the end of its line.
                while chars.peek().is_some_and(|n| *n != '\n') {
                    chars.next();
                }
            }
            (None, '\'' | '"') => (quote, quoted) = (Some(c), true),
            (None, c) if c == '\n' || matches!(c, ';' | '|' | '&') => {
                // `2>&1` and `&>` are redirections, no separators.
                if c == '&' && (word.ends_with('>') || chars.peek() == Some(&'>')) {
                    word.push(c);
                    continue;
                }
                end_word(&mut word, &mut quoted, &mut out);
                out.push(Token { separator: true, ..Token::default() });
            }
            (None, c) if c.is_whitespace() => end_word(&mut word, &mut quoted, &mut out),
            (None, c) => word.push(c),
        }
    }
    end_word(&mut word, &mut quoted, &mut out);
    out
}

/// Words that open or close shell structure and may stand before a command.
const KEYWORDS: &[&str] = &["if", "then", "else", "elif", "do", "while", "until", "!", "{", "(", "time", "&", "."];
/// Programs that run another program given as their argument.
const LAUNCHERS: &[&str] =
    &["exec", "env", "sudo", "nohup", "nice", "command", "builtin", "timeout", "stdbuf", "setsid", "xargs", "source", "call", "start"];
/// Interpreters and package runners: what counts is the script or tool behind them.
const INTERPRETERS: &[&str] = &[
    "node",
    "nodejs",
    "bun",
    "deno",
    "tsx",
    "ts-node",
    "python",
    "python2",
    "python3",
    "py",
    "ruby",
    "perl",
    "php",
    "sh",
    "bash",
    "zsh",
    "dash",
    "fish",
    "pwsh",
    "powershell",
    "cmd",
    "go",
    "uv",
    "uvx",
    "poetry",
    "pipx",
    "npx",
    "bunx",
    "pnpx",
    "osascript",
    "cscript",
    "wscript",
];
/// Interpreter subcommands that stand before the script.
const SUBCOMMANDS: &[&str] = &["run", "exec", "x", "dlx", "tool"];
/// Shell words and small tools that never are what a hook is about.
const UTILITIES: &[&str] = &[
    "",
    "[",
    "[[",
    "test",
    "echo",
    "printf",
    "exit",
    "true",
    "false",
    ":",
    "cat",
    "cd",
    "set",
    "export",
    "case",
    "esac",
    "for",
    "in",
    "fi",
    "done",
    "}",
    ")",
    "return",
    "read",
    "shift",
    "trap",
    "unset",
    "local",
    "eval",
    "grep",
    "sed",
    "awk",
    "jq",
    "head",
    "tail",
    "tr",
    "cut",
    "tee",
    "mkdir",
    "rm",
    "cp",
    "mv",
    "touch",
    "date",
    "sleep",
    "pwd",
    "dirname",
    "basename",
    "which",
    "type",
    "wait",
    "kill",
    "ls",
    "find",
    "wc",
    "sort",
    "uniq",
    "base64",
    "ps",
    "Write-Output",
    "Write-Host",
    "Add-Content",
    "Get-Date",
    "Set-Content",
    "Test-Path",
];
/// Wrapper scripts whose first argument names the hook.
const DISPATCHERS: &[&str] = &["run-hook", "run_hook", "hook-runner", "run-hooks", "hook-wrapper"];
/// Options of interpreters and launchers that take a value.
const VALUED: &[&str] = &[
    "-r",
    "--require",
    "--import",
    "--loader",
    "-u",
    "-n",
    "-k",
    "-s",
    "--cwd",
    "--directory",
    "-w",
    "--with",
    "--project",
    "-ExecutionPolicy",
];

/// Looks at one simple command.
fn simple(words: &[Token], depth: usize, found: &mut Found) {
    let mut words = words.iter().map(|t| t.text.as_str()).peekable();
    let mut interpreted: Option<String> = None;
    while let Some(word) = words.next() {
        let word = word.trim_start_matches('(').trim_end_matches(')');
        let program = base(word);
        if interpreted.is_none() && (KEYWORDS.contains(&word) || is_assignment(word)) {
            continue;
        }
        if is_redirection(word) {
            if word.ends_with(['>', '<']) {
                words.next();
            }
            continue;
        }
        if word.starts_with('-') || (interpreted.as_deref() == Some("cmd") && word.starts_with('/') && word.len() == 2) {
            if inline_text(interpreted.as_deref(), word) {
                if let Some(text) = words.next()
                    && depth < MAX_DEPTH
                    && interpreted.as_deref().is_some_and(is_shell)
                {
                    search(text, depth + 1, found);
                }
                return;
            }
            if word == "-m" && interpreted.as_deref().is_some_and(|i| i.starts_with("py")) {
                if let Some(module) = words.next() {
                    found.script.get_or_insert_with(|| module.to_owned());
                }
                return;
            }
            if VALUED.contains(&word) {
                words.next();
            }
            continue;
        }
        if LAUNCHERS.contains(&program) {
            // `command -v x` asks whether x exists.
            if program == "command" && words.peek().is_some_and(|w| w.starts_with("-v") || w.starts_with("-V")) {
                return;
            }
            if program == "timeout" {
                while words.peek().is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit() || c == '-')) {
                    words.next();
                }
            }
            continue;
        }
        if INTERPRETERS.contains(&program) {
            interpreted = Some(program.to_owned());
            continue;
        }
        if interpreted.is_some() && SUBCOMMANDS.contains(&word) {
            continue;
        }
        if interpreted.is_none() && UTILITIES.contains(&program) {
            return;
        }
        if DISPATCHERS.contains(&stem(program))
            && let Some(hook) = words.peek()
            && !hook.starts_with(['-', '<', '>', '$'])
        {
            found.script.get_or_insert_with(|| (*hook).to_owned());
            return;
        }
        let script = is_script(word) || word.contains(['/', '\\']) && interpreted.is_some();
        if script {
            found.script.get_or_insert_with(|| word.to_owned());
        } else if matches!(program, "npm" | "pnpm" | "yarn" | "make" | "just" | "mise" | "task" | "cargo" | "bundle" | "rake") {
            // A task runner alone says nothing: its task does.
            let task: Vec<&str> = words.filter(|w| !w.starts_with(['-', '<', '>', '$'])).take(2).collect();
            let task = if matches!(task.first(), Some(&("run" | "exec"))) { &task[..] } else { &task[..task.len().min(1)] };
            found.program.get_or_insert_with(|| format!("{program} {}", task.join(" ")).trim().to_owned());
        } else if is_program_name(program) {
            found.program.get_or_insert_with(|| word.to_owned());
        }
        return;
    }
}

fn base(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

fn stem(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn is_shell(interpreter: &str) -> bool {
    matches!(interpreter, "sh" | "bash" | "zsh" | "dash" | "fish" | "cmd" | "pwsh" | "powershell")
}

/// Whether the option says that program text follows.
fn inline_text(interpreter: Option<&str>, option: &str) -> bool {
    match interpreter {
        Some("pwsh" | "powershell") => matches!(option.to_ascii_lowercase().as_str(), "-command" | "-c" | "-encodedcommand" | "-e" | "-ec"),
        Some("cmd") => option.eq_ignore_ascii_case("/c"),
        Some(shell) if is_shell(shell) => !option.starts_with("--") && option.ends_with('c'),
        Some(_) => matches!(option, "-e" | "-c" | "--eval" | "-p" | "--print"),
        None => false,
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn is_redirection(word: &str) -> bool {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.starts_with(['>', '<']) || rest.starts_with("&>")
}

fn is_script(word: &str) -> bool {
    const EXTENSIONS: &[&str] = &[
        "sh", "bash", "zsh", "fish", "mjs", "cjs", "js", "ts", "mts", "py", "rb", "pl", "php", "ps1", "cmd", "bat", "go", "lua", "jar",
        "rs",
    ];
    let name = base(word);
    name.rsplit_once('.').is_some_and(|(stem, ext)| !stem.is_empty() && EXTENSIONS.contains(&ext.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_is_named_without_directory_environment_and_arguments() {
        for (command, program) in [
            ("cargo test --release", "cargo"),
            ("cd /w && RUST_LOG=info /usr/bin/cargo test | tail -3", "cargo"),
            ("$x = Get-Content a.txt\nInvoke-Pester", "Get-Content"),
            ("cd 'C:/a b'; git status -s", "git"),
            ("cd /w", "cd"),
            ("if true; then make; fi", "true"),
            ("# comment\nls", "ls"),
        ] {
            assert_eq!(first_program(command).as_deref(), Some(program), "{command}");
        }
        for (command, program) in [
            ("$r = Invoke-Pester -PassThru\n\"$($r.PassedCount) passed\"", Some("Invoke-Pester")),
            ("$b = @\"\n**What** is C3\n\"@\ngh pr create -b $b", Some("gh")),
            ("cat > x <<'EOF'\nPer the plan\nEOF\ngit add x", Some("cat")),
            ("\"=== 1 check ===\"; git log", Some("git")),
            ("'some words'", None),
            ("\"/opt/my tools/lint\" --all", Some("lint")),
            ("& 'C:\\Program Files\\Git\\bin\\git.exe' log", Some("git")),
            ("x: y", None),
        ] {
            assert_eq!(first_program(command).as_deref(), program, "{command}");
        }
        assert_eq!(first_program("$x"), None);
        assert_eq!(first_program(""), None);
    }
}
