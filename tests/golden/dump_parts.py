"""What goldens keep of a dump, and how a dump shows the kinds that it has."""
import re

# Of LLVM's text these depend on its version or on how Heddle was built, and say nothing of what was emitted.
VERSIONED = re.compile(r"^(; ModuleID = .*|source_filename = .*|attributes #\d+ = .*|target .*|"
                       r"(; Function Attrs: .*\n)?declare .* @llvm\..*)\n", re.M)
NUMBERS_OF_ATTRIBUTES = re.compile(r"(?<=\)) #\d+(?=,| \{|$)", re.M)
SANITIZERS = re.compile(r" sanitize_(address|thread)\b")
PREDECESSORS = re.compile(r" +; preds = .*$", re.M)
ASSERT = re.compile(r"^static_assert\(.*, \"the host's view\"\);\n", re.M)
BANNER = re.compile(r"^// Emitted by Heddle from the pipeline IR\..*\n(//.*\n)*|^// What the host assumed when it emitted this\.\n", re.M)


def sections(dump):
    """The dump cut before each of its titles; what precedes the first is empty."""
    return re.split(r"^(?=== \w+ ==$)", dump, flags=re.M)[1:] or [dump]


def shared_lines(dumps):
    """Checks of the host's view that every kernel of every dump has: goldens hold them once."""
    kernels = [k for d in dumps for k in d.split("\n} // namespace\n")[:-1]]
    lists = [ASSERT.findall(k) for k in kernels]
    return [line for line in lists[0] if all(line in other for other in lists)] if lists else []


def trim(dump, shared):
    """What a golden holds of a dump."""
    kept = []
    for part in sections(dump):
        if part.startswith("== llvm"):
            part = PREDECESSORS.sub("", SANITIZERS.sub("", NUMBERS_OF_ATTRIBUTES.sub("", VERSIONED.sub("", part))))
        if part.startswith("== cuda"):
            part = BANNER.sub("", ASSERT.sub(lambda m: "" if m.group(0) in shared else m.group(0), part))
        kept.append(part)
    return re.sub(r"\n{3,}", "\n\n", "".join(kept))


def pattern(category, name):
    """What a dump has of a kind."""
    word = re.escape(name)
    return {
        "step": rf"^ {{4,}}(%[^=\n]* = )?{word}\b",
        "probe": rf"^ {{4,}}(%[^=\n]* = )?(probe|expand) \w+ {word}\b",
        "source": rf"^p\d+: %\d+ = {word} ",
        "sink": rf"^ +-> {word} s\d",
        "state": rf"^  s\d+_.*?: {word}( |$)",
        "place": rf"^ +-> aggregate .*\[gpu: [^\]]*{word}\]" if name else r"^ +-> aggregate (?!.*\[gpu: (\d|registers|runs))",
        "cache": rf"^ +-> aggregate .*\[gpu: [^\]]*\b{word}\b",
        "shape": rf"^    hdd_{re.sub('[ +]', '_', name)}(_balance)?\(",
    }[category]
