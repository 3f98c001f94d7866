import { Text } from "@mantine/core";
import type { AnswerOf } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import { Name } from "./texts.tsx";

type Names = ReadonlyMap<string, { kind: string; name: string }>;

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Which of the IDs in a text are users or user tags of the organization, by their names. */
export function NamedIds({ text }: { text: string }) {
  const ids = [...new Set(text.match(ID) ?? [])];
  const options = { enabled: ids.length > 0 };
  const users = useAnswer("list_users", {}, options).data;
  const tags = useAnswer("list_user_tags", {}, options).data;
  return ids.map((id) => {
    const named = (users && namesOfUsers(users).get(id)) ?? (tags && namesOfTags(tags).get(id));
    return (
      named && (
        <Text key={id} size="xs" c="dimmed">
          {text === id ? "" : `${id} is the `}
          {named.kind} “<Name>{named.name}</Name>”
        </Text>
      )
    );
  });
}

/** An activity can have a thousand IDs, and an organization many users, so each answer is looked through only once. */
function oncePerAnswer<Answer extends object>(namesOf: (answer: Answer) => Names): (answer: Answer) => Names {
  const known = new WeakMap<Answer, Names>();
  return (answer) => {
    const names = known.get(answer) ?? namesOf(answer);
    known.set(answer, names);
    return names;
  };
}

const namesOfUsers = oncePerAnswer(
  ({ users }: AnswerOf<"list_users">) =>
    new Map(users.map(({ userId, userName }) => [userId, { kind: "user", name: userName }])),
);
const namesOfTags = oncePerAnswer(
  ({ userTags }: AnswerOf<"list_user_tags">) =>
    new Map(userTags.map(({ tagId, tagName }) => [tagId, { kind: "user tag", name: tagName }])),
);
