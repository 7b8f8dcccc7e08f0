"""How a prompt reaches a checkpoint: as chat messages, as it is, or in the marks that a model family was trained on."""

from __future__ import annotations

from dataclasses import dataclass

from nlgeval_lib.engines import Request

STYLES = {
    "messages": "chat messages; the engine or the server applies the checkpoint's own template",
    "raw": "the prompt as it is; a system text stands before it, an empty line between",
    "llama2": "[INST] <<SYS>> ... <</SYS>> prompt [/INST]",
    "mistral": "[INST] prompt [/INST]; a system text stands before the prompt inside the marks",
}
NAMED = {"prometheus-v1": ("llama2", "You are a fair evaluator language model.")}


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """One way of wrapping a prompt, with the system text if there is one.

    Texts in `raw`, `llama2` and `mistral` carry no begin-of-text token: the tokenizer adds it.
    Raises: ValueError for an unknown style.
    """

    style: str = "messages"
    system: str = ""

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise ValueError(f"chat style {self.style!r}; allowed: {', '.join(STYLES)}")

    @classmethod
    def named(cls, chat: str | ChatFormat) -> ChatFormat:
        """A format by its style or by a checkpoint family's name. Raises: ValueError with the names there are."""
        if isinstance(chat, ChatFormat):
            return chat
        if chat in NAMED:
            return cls(*NAMED[chat])
        if chat not in STYLES:
            raise ValueError(f"chat {chat!r}; allowed: {', '.join([*STYLES, *NAMED])}, or a ChatFormat")
        return cls(chat)

    @property
    def label(self) -> str:
        """How a signature names it: the style, `+system` where a system text is sent."""
        return f"{self.style}+system" if self.system else self.style

    def text(self, prompt: str) -> str:
        """The one text of the styles that are text. Raises: ValueError for `messages`."""
        if self.style == "raw":
            return f"{self.system}\n\n{prompt}" if self.system else prompt
        if self.style == "llama2":
            system = f"<<SYS>>\n{self.system}\n<</SYS>>\n\n" if self.system else ""
            return f"[INST] {system}{prompt} [/INST]"
        if self.style == "mistral":
            system = f"{self.system}\n\n" if self.system else ""
            return f"[INST] {system}{prompt} [/INST]"
        raise ValueError("chat messages are no single text; use request(prompt)")

    def request(self, prompt: str, id: str = "") -> Request:
        """What the engine is asked for this prompt; `id` names it where it fails."""
        if self.style == "messages":
            return Request.chat(prompt, self.system, id)
        return Request(prompt=self.text(prompt), id=id)
