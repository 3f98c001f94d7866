import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { linter } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, placeholder } from "@codemirror/view";
import { Button, Group, Input, Stack } from "@mantine/core";
import { useEffect, useId, useRef } from "react";
import { NamedIds } from "../parts/named-ids.tsx";
import { styleNonce } from "../style-nonce.ts";
import { completionsOf, diagnosticsOf, formatted, policyHighlighting, policyLanguage, type Scope } from "./language.ts";

interface ExpressionFieldProps {
  label: string;
  description: string;
  scope: Scope;
  value: string;
  onChange: (value: string) => void;
}

/** How long after a key the expression is looked at. */
const LINT_DELAY_MS = 250;

/** An expression of the policy language, with its errors where they are. Tab leaves it; Ctrl-Space completes. */
export function ExpressionField({ label, description, scope, value, onChange }: ExpressionFieldProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const told = useRef(onChange);
  const id = useId();
  useEffect(() => {
    told.current = onChange;
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is made once, and has its text from then on
  useEffect(() => {
    const made = new EditorView({
      parent: place.current as HTMLDivElement,
      state: EditorState.create({
        doc: value,
        extensions: extensionsFor(scope, label, id, (text) => told.current(text)),
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [scope]);
  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);
  return (
    <Stack gap={4}>
      <Group justify="space-between">
        <Input.Label id={id} component="span">
          {label}
        </Input.Label>
        <Button size="compact-xs" variant="subtle" onClick={() => onChange(formatted(value))} disabled={value === ""}>
          Format
        </Button>
      </Group>
      <Input.Description id={`${id}-description`}>{description}</Input.Description>
      <div ref={place} className="expression" />
      <NamedIds text={value} />
      {/* The editor shows it to a pointer alone. */}
      <Input.Error id={`${id}-error`}>{diagnosticsOf(value, scope)[0]?.message}</Input.Error>
    </Stack>
  );
}

const extensionsFor = (scope: Scope, label: string, id: string, onChange: (text: string) => void) => [
  EditorView.cspNonce.of(styleNonce),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": `${id}-description ${id}-error` }),
  EditorView.updateListener.of((update) => {
    if (update.docChanged) onChange(update.state.doc.toString());
  }),
  highlightSpecialChars(),
  history(),
  bracketMatching(),
  closeBrackets(),
  policyLanguage,
  syntaxHighlighting(policyHighlighting),
  autocompletion({ override: [completionsOf(scope)] }),
  linter((editor) => diagnosticsOf(editor.state.doc.toString(), scope), { delay: LINT_DELAY_MS }),
  placeholder("always"),
  keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
];
