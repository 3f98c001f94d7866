import { Text } from "@mantine/core";
import { useAnswer } from "../api/hooks.ts";
import { Name } from "./texts.tsx";

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Which of the IDs in a text are users or user tags of the organization, by their names. */
export function NamedIds({ text }: { text: string }) {
  const ids = [...new Set(text.match(ID) ?? [])];
  const options = { enabled: ids.length > 0 };
  const { users = [] } = useAnswer("list_users", {}, options).data ?? {};
  const { userTags = [] } = useAnswer("list_user_tags", {}, options).data ?? {};
  const named = ids.flatMap((id) => {
    const user = users.find(({ userId }) => userId === id);
    const tag = userTags.find(({ tagId }) => tagId === id);
    if (user) return [{ id, kind: "user", name: user.userName }];
    return tag ? [{ id, kind: "user tag", name: tag.tagName }] : [];
  });
  return named.map(({ id, kind, name }) => (
    <Text key={id} size="xs" c="dimmed">
      {text === id ? "" : `${id} is the `}
      {kind} “<Name>{name}</Name>”
    </Text>
  ));
}
