import { Button, Card, Code, Group, Select, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useLayoutEffect, useRef, useState } from "react";
import { readableJson } from "../../../src/kernel/unseen.ts";
import { valueAt, violationsIn, wordsAtField } from "../api/api-error.ts";
import { type Documented, exampleOf, isQuery, typeOfExample, versionsOf } from "../api/documented.ts";
import { useOpenApi } from "../api/hooks.ts";
import { type Components, type JsonObject, startOf } from "../api/json-schema.ts";
import { Answered } from "../parts/answered.tsx";
import { JsonField, jsonObjectOf } from "../parts/json-field.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { type Refusal, SchemaForm, shownRefusals } from "../parts/schema-form.tsx";
import { Section } from "../parts/section.tsx";
import { Copyable, CopyText } from "../parts/texts.tsx";
import { useSession } from "../session/context.tsx";

const PUBLIC = /^\/public\/v1\/(query|submit)\//;

/** Any operation, as a form made from its schema, with the example of its documentation to begin with; stamped and sent. */
export function Explorer() {
  const [path, setPath] = useState<string>("/public/v1/query/whoami");
  const document = useOpenApi();
  return (
    <Page title="API">
      <Answered to={document}>
        {({ paths, components }) => (
          <>
            <Select
              label="Operation"
              data={Object.entries(paths)
                .filter(([each]) => PUBLIC.test(each))
                .map(([value, { post }]) => ({ value, label: post.operationId }))}
              value={path}
              onChange={(value) => value !== null && setPath(value)}
              searchable
              allowDeselect={false}
              limit={400}
            />
            {paths[path] && (
              <Operation key={path} path={path} documented={paths[path].post} components={components.schemas} />
            )}
          </>
        )}
      </Answered>
    </Page>
  );
}

const written = (value: unknown): string => JSON.stringify(value, null, 2);

/** What the server's answer has against fields of the body that it was sent. */
const refusalsOf = (error: unknown, body: unknown): Refusal[] =>
  violationsIn(error).map((violation) => ({
    path: violation.field,
    value: valueAt(body, violation),
    reason: wordsAtField(violation),
  }));

interface OperationProps {
  path: string;
  documented: Documented;
  components: Components;
}

function Operation({ path, documented, components }: OperationProps) {
  const { api, organizationId } = useSession();
  const queries = useQueryClient();
  const versions = versionsOf(path, documented);
  const [type, setType] = useState(() => typeOfExample(documented) ?? versions[0]?.type ?? "");
  const schema = versions.find((version) => version.type === type)?.schema ?? {};
  // The text is what counts: the form shows what it says, and writes it anew.
  const [text, setText] = useState(() => written(exampleOf(path, documented)));
  const fields = jsonObjectOf(text);
  const body = (given: JsonObject, time: string): string =>
    isQuery(path)
      ? JSON.stringify({ organizationId, ...given })
      : `{"type":${JSON.stringify(type)},"timestampMs":${time},"organizationId":${JSON.stringify(organizationId)},"parameters":${JSON.stringify(given)}}`;
  const call = useMutation({
    mutationFn: (given: JsonObject) => api.call(path, isQuery(path) ? { fields: given } : { type, parameters: given }),
    onSettled: () => void (isQuery(path) || queries.invalidateQueries()),
  });
  const refused = refusalsOf(call.error, isQuery(path) ? call.variables : { parameters: call.variables });
  const form = useRef<HTMLDivElement>(null);
  const [shownAtFields, setShownAtFields] = useState<unknown>();
  // Once for each answer: what is changed later takes the error away from its field, and nothing brings the focus back.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was refused follows from the error
  useLayoutEffect(() => {
    const shown = form.current && call.error ? shownRefusals(form.current) : [];
    shown[0]?.element.focus();
    const isWhole = refused.length > 0 && refused.every((each) => shown.some(({ path }) => path === each.path));
    setShownAtFields(isWhole ? call.error : undefined);
  }, [call.error]);
  return (
    <Stack>
      <Text>{documented.description}</Text>
      {versions.length > 1 && (
        <Select
          label="Version"
          data={versions.map((version) => version.type)}
          value={type}
          onChange={(chosen) => chosen !== null && setType(chosen)}
          allowDeselect={false}
        />
      )}
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Section
          title="Form"
          add={
            <Group gap="xs">
              <Button variant="default" size="compact-sm" onClick={() => setText(written(startOf(schema, components)))}>
                Clear
              </Button>
              <Button variant="default" size="compact-sm" onClick={() => setText(written(exampleOf(path, documented)))}>
                Use the example
              </Button>
            </Group>
          }
        >
          {fields ? (
            <div ref={form}>
              <SchemaForm
                key={type}
                schema={schema}
                components={components}
                value={fields}
                onChange={(value) => setText(written(value))}
                path={isQuery(path) ? "" : "parameters"}
                refused={refused}
              />
            </div>
          ) : (
            <Text role="status">The JSON is not an object. The form continues once it is one.</Text>
          )}
        </Section>
        <JsonField
          label={isQuery(path) ? "Fields" : "Parameters"}
          description="The same as JSON. The organization, and an activity's type and time, are added."
          value={text}
          onChange={setText}
        />
      </SimpleGrid>
      <Group>
        <Button loading={call.isPending} disabled={fields === undefined} onClick={() => call.mutate(fields ?? {})}>
          {isQuery(path) ? "Send" : "Submit"}
        </Button>
        {!isQuery(path) && <Text size="sm">This is an activity: it will be carried out.</Text>}
      </Group>
      {call.isError && call.error !== shownAtFields && <ProblemNote error={call.error} />}
      {call.isSuccess && (
        <Card withBorder role="status">
          <Title order={2} size="h4">
            Answer
          </Title>
          <Code block className="bytes" tabIndex={0} aria-label="Answer">
            {readableJson(call.data)}
          </Code>
        </Card>
      )}
      {fields !== undefined && <Elsewhere name={documented.operationId} path={path} fields={fields} body={body} />}
    </Stack>
  );
}

/** The same from elsewhere: by what signs there, or as it is stamped here. */
function Elsewhere({ name, path, body, fields }: ElsewhereProps) {
  const call = `npx keystead call ${name} ${quoted(JSON.stringify(fields))}`;
  const typescript = [
    `import { ApiKeyStamper } from "@turnkey/api-key-stamper";`,
    `import { TurnkeyClient } from "@turnkey/http";`,
    "",
    "const stamper = new ApiKeyStamper({ apiPublicKey, apiPrivateKey });",
    `const client = new TurnkeyClient({ baseUrl: ${JSON.stringify(location.origin)} }, stamper);`,
    `const answer = await client.request(${JSON.stringify(path)}, ${body(fields, "String(Date.now())")});`,
  ].join("\n");
  return (
    <Card withBorder>
      <Stack gap="xs">
        <Title order={2} size="h4">
          From a terminal
        </Title>
        <Copyable text={call} label="command" whole />
        <Snippet label="TypeScript" text={typescript} />
        <Curl key={body(fields, "")} path={path} bodyAt={(time) => body(fields, JSON.stringify(time))} />
      </Stack>
    </Card>
  );
}

/** The request with the stamp of whoever is signed in, once they ask for it: whoever has its text can send it for an hour. */
function Curl({ path, bodyAt }: { path: string; bodyAt: (time: string) => string }) {
  const { stamp } = useSession();
  const stamping = useMutation({
    mutationFn: async () => {
      const body = bodyAt(String(Date.now()));
      const { stampHeaderName, stampHeaderValue } = await stamp(body);
      return curlOf(path, quoted(`${stampHeaderName.toLowerCase()}: ${stampHeaderValue}`), body);
    },
  });
  return (
    <>
      <Snippet label="curl" text={stamping.data ?? curlOf(path, '"x-stamp: $STAMP"', bodyAt(String(Date.now())))} />
      {stamping.isError && <ProblemNote error={stamping.error} />}
      <Group>
        <Button size="xs" variant="default" loading={stamping.isPending} onClick={() => stamping.mutate()}>
          Stamp it
        </Button>
        <Text size="sm">
          {stamping.data === undefined
            ? "STAMP stands for the stamp of exactly these bytes. You can create it here with your credential."
            : "It is stamped: anybody who has this text can send it for an hour. If it is sent twice, it is the same request."}
        </Text>
      </Group>
    </>
  );
}

/** @param header for a shell, in quotes */
const curlOf = (path: string, header: string, body: string): string =>
  [
    `curl ${quoted(location.origin + path)} -H 'content-type: application/json' \\`,
    `  -H ${header} \\`,
    `  --data-binary ${quoted(body)}`,
  ].join("\n");

interface ElsewhereProps {
  name: string;
  path: string;
  fields: Record<string, unknown>;
  /** The body as JSON; its time stands as it is given. */
  body: (fields: Record<string, unknown>, time: string) => string;
}

/** For a shell: a single quote ends the text for a moment. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const Snippet = ({ label, text }: { label: string; text: string }) => (
  <Stack gap={4}>
    <Group justify="space-between">
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <CopyText text={text} label={label} />
    </Group>
    <Code block className="bytes" tabIndex={0} aria-label={label}>
      {text}
    </Code>
  </Stack>
);
