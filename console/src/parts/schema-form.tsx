import { Button, Checkbox, Fieldset, Group, JsonInput, Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { type ReactNode, type Ref, useId, useRef, useState } from "react";
import {
  type Components,
  canShow,
  choicesOf,
  fits,
  isObject,
  kindOf,
  MAX_FORM_DEPTH,
  MAX_FORM_ITEMS,
  memberOf,
  numberTyped,
  problemOfValue,
  resolved,
  type Schema,
  startOf,
  variantName,
  variantsOf,
  withMember,
} from "../api/json-schema.ts";

/** A form for a value of any schema. The value is the caller's: whoever changes it elsewhere changes what the form shows. */

interface FieldProps {
  label: string;
  schema: Schema;
  components: Components;
  /** Undefined where it is not there. */
  value: unknown;
  onChange: (value: unknown) => void;
  depth: number;
  /** Where the value is in the body that is sent, as errors name it; empty of the body itself. */
  path: string;
  /** What the server refused, each shown at its field for as long as the same value stands there. */
  refused: readonly Refusal[];
}

export interface Refusal {
  path: string;
  /** What stood there; undefined where nothing did. */
  value: unknown;
  reason: string;
}

/** The path of a refusal, at whatever shows it: whoever has it shown can find what is to have the focus. */
const REFUSED = "data-refused";

/** What of a form shows a refusal, from the top; without what is hidden itself. */
export const shownRefusals = (form: HTMLElement): { path: string; element: HTMLElement }[] =>
  [...form.querySelectorAll<HTMLElement>(`[${REFUSED}]`)]
    .filter((element) => element.checkVisibility())
    .map((element) => ({ path: element.getAttribute(REFUSED) ?? "", element }));

const within = (path: string, step: string | number): string => (path === "" ? String(step) : `${path}.${step}`);

function refusalOf({ path, value, refused }: Pick<FieldProps, "path" | "value" | "refused">): string | undefined {
  const isHere = (each: Refusal) => each.path === path && JSON.stringify(each.value) === JSON.stringify(value);
  return refused.find(isHere)?.reason;
}

/** Of an input: what is wrong with it, by the server's answer or else by the schema. */
function faultsOf(props: FieldProps): { error: string | undefined; [REFUSED]: string | undefined } {
  const refusal = refusalOf(props);
  return { error: refusal ?? problemIn(props), [REFUSED]: refusal === undefined ? undefined : props.path };
}

/** The fields of an object's members, without anything around them. */
export function SchemaForm(props: Omit<FieldProps, "label" | "depth">) {
  const schema = resolved(props.schema, props.components);
  const kind = kindOf(schema);
  if (kind === "object") return <Members {...props} schema={schema} depth={0} />;
  return <Field {...props} schema={schema} label="Parameters" depth={0} />;
}

function Field(props: FieldProps) {
  const schema = resolved(props.schema, props.components);
  const field = { ...props, schema };
  if (props.depth > MAX_FORM_DEPTH || !canShow(schema, props.value)) return <JsonPart {...field} />;
  switch (kindOf(schema)) {
    case "choice":
      return <Choice {...field} />;
    case "variants":
      return <Variants {...field} />;
    case "text":
      return <TextField {...field} />;
    case "number":
      return <NumberField {...field} />;
    case "boolean":
      return <BooleanField {...field} />;
    case "list":
      return <Items {...field} />;
    case "object":
      return (
        <Together {...field}>
          <Members {...field} />
        </Together>
      );
    case "json":
      return <JsonPart {...field} />;
  }
}

const problemIn = ({ schema, value, components }: FieldProps): string | undefined =>
  problemOfValue(schema, value, components);

/** Where a description completes "must be …", it is what is said when it is not. */
const helpOf = ({ description, pattern }: Schema): string | undefined =>
  pattern === undefined ? description : description && `Must be ${description}.`;

const LONG_TEXT = 500;

function TextField(props: FieldProps) {
  const { label, schema, value = "", onChange } = props;
  const shared = {
    label,
    description: helpOf(schema),
    value: String(value),
    ...faultsOf(props),
    autoComplete: "off",
    spellCheck: false,
  };
  return (schema.maxLength ?? 0) > LONG_TEXT ? (
    <Textarea {...shared} onChange={(event) => onChange(event.currentTarget.value)} autosize minRows={1} maxRows={8} />
  ) : (
    <TextInput {...shared} onChange={(event) => onChange(event.currentTarget.value)} />
  );
}

function NumberField(props: FieldProps) {
  const { label, schema, value = "", onChange } = props;
  return (
    <TextInput
      label={label}
      description={schema.description}
      value={String(value)}
      {...faultsOf(props)}
      onChange={(event) => onChange(numberTyped(event.currentTarget.value))}
      inputMode="decimal"
      autoComplete="off"
    />
  );
}

function BooleanField(props: FieldProps) {
  const { label, schema, value, onChange } = props;
  const refusal = refusalOf(props);
  return (
    <Checkbox
      label={label}
      description={schema.description}
      checked={value === true}
      error={refusal}
      aria-invalid={refusal !== undefined || undefined}
      {...{ [REFUSED]: refusal === undefined ? undefined : props.path }}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  );
}

const MAX_CHOICES_DRAWN = 300;

function Choice(props: FieldProps) {
  const { label, schema, value, onChange } = props;
  const choices = choicesOf(schema);
  return (
    <Select
      label={label}
      description={schema.description}
      data={[...new Set(choices)]}
      value={choices.includes(value as string) ? (value as string) : null}
      {...faultsOf(props)}
      onChange={(chosen) => chosen !== null && onChange(chosen)}
      allowDeselect={false}
      searchable
      limit={MAX_CHOICES_DRAWN}
    />
  );
}

/** One of several schemas: that which was chosen, unless the value is plainly of another one. */
function Variants(props: FieldProps) {
  const { label, schema, value, components, onChange, depth } = props;
  const variants = variantsOf(schema);
  const [wanted, setWanted] = useState(0);
  const fitting = variants.findIndex((variant) => fits(variant, value, components, depth));
  const isWanted = fitting < 0 || fits(variants[wanted] ?? {}, value, components, depth);
  const chosen = isWanted ? wanted : fitting;
  const options = variants.map((variant, index) => ({ value: String(index), label: variantName(variant, components) }));
  return (
    <Stack gap="sm">
      <Select
        label={`${label}: one of`}
        data={options}
        value={String(chosen)}
        onChange={(index) => {
          const variant = variants[Number(index)];
          if (index === null || !variant) return;
          setWanted(Number(index));
          onChange(startOf(variant, components, depth));
        }}
        allowDeselect={false}
      />
      <Field {...props} schema={variants[chosen] ?? {}} depth={depth + 1} />
    </Stack>
  );
}

function Items(props: FieldProps) {
  const { label, schema, value, components, onChange, depth, path, refused } = props;
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  const { items: ofItem = {}, maxItems = Number.POSITIVE_INFINITY } = schema;
  const problem = problemIn(props);
  const begun = () => startOf(ofItem, components, depth + 1);
  return (
    <Together {...props}>
      <Stack gap="sm">
        {schema.description !== undefined && <Text size="sm">{schema.description}</Text>}
        {items.slice(0, MAX_FORM_ITEMS).map((item, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: items are told apart by their place alone
          <Stack key={index} gap={4}>
            <Field
              label={`${label} ${index + 1}`}
              schema={ofItem}
              components={components}
              value={item}
              onChange={(changed) => onChange(items.with(index, changed))}
              depth={depth + 1}
              path={within(path, index)}
              refused={refused}
            />
            <Taken
              label={`Remove ${label} ${index + 1}`}
              onClick={() => onChange(items.filter((_, each) => each !== index))}
            />
          </Stack>
        ))}
        {items.length > MAX_FORM_ITEMS && (
          <Text size="sm">{items.length - MAX_FORM_ITEMS} more of them are in the JSON.</Text>
        )}
        {problem !== undefined && <Wrong>{problem}</Wrong>}
        {items.length < Math.min(maxItems, MAX_FORM_ITEMS) && (
          <Group>
            <Added label={`Add to ${label}`} onClick={() => onChange([...items, begun()])} />
          </Group>
        )}
      </Stack>
    </Together>
  );
}

/** Fields that are one value together, with what was refused of that value as a whole. */
function Together({ children, ...props }: FieldProps & { children: ReactNode }) {
  const refusal = refusalOf(props);
  const id = useId();
  const isRefused = refusal !== undefined;
  const shown = { tabIndex: -1, "aria-describedby": id, [REFUSED]: props.path };
  return (
    <Fieldset legend={props.label} {...(isRefused ? shown : {})}>
      {isRefused && <Wrong id={id}>{refusal}</Wrong>}
      {children}
    </Fieldset>
  );
}

function Members({ schema, value, components, onChange, depth, path, refused }: Omit<FieldProps, "label">) {
  const { properties = {}, required = [] } = schema;
  const members = isObject(value) ? value : {};
  const entries = Object.entries(properties);
  const absent = entries.filter(([name]) => !required.includes(name) && memberOf(members, name) === undefined);
  const problem = problemOfValue(schema, members, components);
  /** What was added or taken away last. Its button goes with that, and the focus goes on to what is there instead. */
  const moved = useRef<string>(undefined);
  const arriveAt = (name: string) => (place: HTMLElement | null) => {
    if (!place || moved.current !== name) return;
    moved.current = undefined;
    (place.matches("button") ? place : place.querySelector<HTMLElement>("input, textarea, button"))?.focus();
  };
  const move = (name: string, changed: unknown) => {
    moved.current = name;
    onChange(withMember(members, name, changed));
  };
  return (
    <Stack gap="sm">
      {entries
        .filter((entry) => !absent.includes(entry))
        .map(([name, member]) => (
          <Stack key={name} gap={4} ref={arriveAt(name)}>
            <Field
              label={name}
              schema={member}
              components={components}
              value={memberOf(members, name)}
              onChange={(changed) => onChange(withMember(members, name, changed))}
              depth={depth + 1}
              path={within(path, name)}
              refused={refused}
            />
            {!required.includes(name) && <Taken label={`Remove ${name}`} onClick={() => move(name, undefined)} />}
          </Stack>
        ))}
      {problem !== undefined && <Wrong>{problem}</Wrong>}
      {absent.length > 0 && (
        <Group gap="xs">
          {absent.map(([name, member]) => (
            <Added
              key={name}
              label={`Add ${name}`}
              onClick={() => move(name, startOf(member, components, depth + 1))}
              ref={arriveAt(name)}
            />
          ))}
        </Group>
      )}
    </Stack>
  );
}

/** A part that has no form: nested too deeply, of any shape, or not of the shape that it should have. */
function JsonPart(props: FieldProps) {
  const { label, schema, value, onChange } = props;
  const written = value === undefined ? "" : JSON.stringify(value, null, 2);
  const [typed, setTyped] = useState(written);
  const text = isWritten(typed, value) ? typed : written;
  return (
    <JsonInput
      label={`${label}, as JSON`}
      description={schema.description}
      value={text}
      {...faultsOf(props)}
      onChange={(changed) => {
        setTyped(changed);
        try {
          onChange(JSON.parse(changed));
        } catch {
          // It is not JSON yet; what was typed before stays the value.
        }
      }}
      validationError="This is not JSON."
      autosize
      minRows={2}
      maxRows={12}
      spellCheck={false}
    />
  );
}

/** Whether a text is the value, or is none yet and on its way to be one. */
function isWritten(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return true;
  }
}

const Wrong = ({ id, children }: { id?: string; children: string }) => (
  <Text id={id} size="sm" c="var(--mantine-color-error)">
    {children}
  </Text>
);

interface ActProps {
  label: string;
  onClick: () => void;
  ref?: Ref<HTMLButtonElement>;
}

const Added = ({ label, ...act }: ActProps) => (
  <Button size="compact-sm" variant="default" {...act}>
    {label}
  </Button>
);

const Taken = ({ label, onClick }: ActProps) => (
  <Group justify="flex-end">
    <Added label={label} onClick={onClick} />
  </Group>
);
