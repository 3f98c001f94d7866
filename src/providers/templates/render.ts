/** Parses and fills templates, which support a few placeholders in the syntax of Go's templates. Pure. */

/** A placeholder with a fixed name. A message's kind determines which ones have a value. */
export type Place = "OtpCode" | "CredentialBundle" | "InvitationToken" | "MagicLink" | "AppName" | "LogoUrl";

export interface Facts {
  places: Partial<Record<Place, string>>;
  variables: Readonly<Record<string, string>>;
}

/** A template whose `subject.txt`, `text.txt` and `html.html` have been read. */
export interface Template {
  subject: string;
  text: string;
  html: string;
}

type Part = { literal: string } | { place: string } | { variable: string } | { unknown: string };

const PLACE = /\{\{([^{}]*)\}\}/g;
const NAMED = /^\s*\.([A-Za-z]+)\s*$/;
const INDEXED = /^\s*index\s+\.TemplateVariables\s+"([^"\\]+)"\s*$/;

function* partsOf(text: string): Generator<Part> {
  let end = 0;
  for (const match of text.matchAll(PLACE)) {
    const literal = text.slice(end, match.index);
    yield* literalParts(literal);
    const [whole, inner = ""] = match;
    const place = NAMED.exec(inner)?.[1];
    const variable = INDEXED.exec(inner)?.[1];
    if (place !== undefined) yield { place };
    else if (variable !== undefined) yield { variable };
    else yield { unknown: whole };
    end = match.index + whole.length;
  }
  yield* literalParts(text.slice(end));
}

/** Braces that are not a placeholder are treated as a mistake, not as text. */
function* literalParts(literal: string): Generator<Part> {
  const stray = /\{\{|\}\}/.exec(literal);
  if (stray) yield { unknown: literal.slice(stray.index, stray.index + 40) };
  else yield { literal };
}

/**
 * The first placeholder in a text for which these facts have no value, as a problem that continues "the template". Undefined if there is
 * none.
 */
export function problemOf(text: string, { places, variables }: Facts): string | undefined {
  for (const part of partsOf(text)) {
    if ("unknown" in part) return `has a place that is not known: ${part.unknown.slice(0, 80)}`;
    if ("place" in part && !Object.hasOwn(places, part.place))
      return `has {{ .${part.place} }}, which this message does not have`;
    if ("variable" in part && !Object.hasOwn(variables, part.variable)) {
      return `has the variable "${part.variable}", which \`templateVariables\` does not give`;
    }
  }
  return undefined;
}

/**
 * Fills the placeholders. `escapeValue` is applied to values, not to the template.
 *
 * @throws Error if a placeholder has no value. Call `problemOf` first.
 */
export function fill(text: string, facts: Facts, escapeValue: (value: string) => string = (value) => value): string {
  const problem = problemOf(text, facts);
  if (problem !== undefined) throw new Error(`the template ${problem}`);
  const { places, variables } = facts;
  return Array.from(partsOf(text), (part) => {
    if ("literal" in part) return part.literal;
    return escapeValue(
      ("place" in part ? places[part.place as Place] : variables[(part as { variable: string }).variable]) ?? "",
    );
  }).join("");
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" };

/** For HTML text and quoted attributes. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string);

export const fillAll = ({ subject, text, html }: Template, facts: Facts): Template => ({
  subject: fill(subject, facts),
  text: fill(text, facts),
  html: fill(html, facts, escapeHtml),
});

export const problemOfTemplate = (template: Template, facts: Facts): string | undefined =>
  [template.subject, template.text, template.html]
    .map((text) => problemOf(text, facts))
    .find((each) => each !== undefined);
