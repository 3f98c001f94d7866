import { Button, Group, MultiSelect, NumberInput, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { AnswerOf, Schemas } from "../api/api.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { Changeable } from "../parts/changeable.tsx";
import { DeleteDialog, FormDialog } from "../parts/dialogs.tsx";
import { NameField } from "../parts/name-field.tsx";
import { Page } from "../parts/page.tsx";
import { RenameDialog } from "../parts/rename-dialog.tsx";
import { Section } from "../parts/section.tsx";
import { Copyable, Name, When } from "../parts/texts.tsx";
import { userOptions } from "../parts/user-options.ts";
import { Invitations } from "./invitations.tsx";

type OrganizationData = AnswerOf<"get_organization">["organizationData"];

/** The organization itself: its name, who decides on anything, its tags of users, and whom it has invited. */
export function Organization() {
  const answer = useAnswer("get_organization", {});
  return (
    <Page title="Organization">
      <Answered to={answer}>
        {({ organizationData }) => (
          <Stack gap="lg">
            <Named organization={organizationData} />
            <RootQuorum organization={organizationData} />
            <Tags organization={organizationData} />
          </Stack>
        )}
      </Answered>
      <Invitations />
    </Page>
  );
}

function Named({ organization: { name = "", organizationId = "" } }: { organization: OrganizationData }) {
  const [isOpen, setOpen] = useState(false);
  const update = useSubmit("update_organization_name");
  return (
    <Section
      title="Name"
      add={
        <Button size="xs" variant="default" onClick={() => setOpen(true)}>
          Rename
        </Button>
      }
    >
      <Text>
        <Name>{name}</Name>
      </Text>
      <Group gap={4}>
        Id <Copyable text={organizationId} label="organization id" whole />
      </Group>
      {isOpen && (
        <RenameDialog
          kind="organization"
          name={name}
          mutation={update}
          parametersFor={(organizationName) => ({ organizationName })}
          onClose={() => setOpen(false)}
        />
      )}
    </Section>
  );
}

function RootQuorum({ organization: { rootQuorum, users = [] } }: { organization: OrganizationData }) {
  const [isOpen, setOpen] = useState(false);
  const { threshold, userIds } = rootQuorum ?? { threshold: 1, userIds: [] };
  const names = new Map(users.map(({ userId, userName }) => [userId, userName]));
  return (
    <Section
      title="Root quorum"
      add={
        <Button size="xs" variant="default" onClick={() => setOpen(true)}>
          Change
        </Button>
      }
    >
      <Text>
        {whoCanDo(threshold, userIds.length)} anything, whatever the policies say:{" "}
        {userIds.map((userId, index) => (
          <span key={userId}>
            {index > 0 && ", "}
            <Link to="/users/$userId" params={{ userId }}>
              <Name>{names.get(userId) ?? userId}</Name>
            </Link>
          </span>
        ))}
        .
      </Text>
      {isOpen && <ChangeQuorum threshold={threshold} userIds={userIds} users={users} onClose={() => setOpen(false)} />}
    </Section>
  );
}

function whoCanDo(threshold: number, members: number): string {
  if (threshold > 1) return `Any ${threshold} of these users together can do`;
  return members === 1 ? "One user can do" : "Any one of these users can do";
}

interface ChangeQuorumProps {
  threshold: number;
  userIds: string[];
  users: Schemas["User"][];
  onClose: () => void;
}

function ChangeQuorum({ threshold: now, userIds: members, users, onClose }: ChangeQuorumProps) {
  const [threshold, setThreshold] = useState(now);
  const [userIds, setUserIds] = useState(members);
  const update = useSubmit("update_root_quorum");
  return (
    <FormDialog
      title="Change the root quorum"
      act="Change the root quorum"
      isDanger
      mutation={update}
      isReady={threshold >= 1 && threshold <= userIds.length}
      parameters={() => ({ threshold, userIds })}
      onClose={onClose}
    >
      <Text size="sm">
        Users who together reach the number of required approvals can do anything, including changing the root quorum.
        Everybody else can do only what policies allow. Only the new members can undo this.
      </Text>
      <MultiSelect
        label="Members"
        data={userOptions(users)}
        value={userIds}
        onChange={setUserIds}
        searchable
        limit={100}
      />
      <NumberInput
        label="Required approvals"
        description={`From 1 to ${userIds.length}, as many as there are members.`}
        min={1}
        max={Math.max(1, userIds.length)}
        value={threshold}
        onChange={(value) => setThreshold(Number(value))}
        allowDecimal={false}
      />
    </FormDialog>
  );
}

function Tags({ organization: { tags = [], users = [] } }: { organization: OrganizationData }) {
  const ofUsers = tags.filter(({ tagType }) => tagType === "TAG_TYPE_USER");
  return (
    <Changeable<Schemas["Tag"]>
      title="User tags"
      add="New tag"
      head={["Name", "Users", "Id", "Created"]}
      empty="There are no tags yet. Policies can name all users with a tag at once."
      keyOf={({ tagId }) => tagId}
      nameOf={({ tagName }) => tagName}
      cellsOf={({ tagId, tagName, createdAt }) => [
        <Name key="name">{tagName}</Name>,
        users.filter(({ userTags }) => userTags.includes(tagId)).length,
        <Copyable key="id" text={tagId} label="tag id" />,
        <When key="created" at={createdAt} />,
      ]}
      dialogOf={(open, close) => {
        if (open.dialog === "add") return <NewTag users={users} onClose={close} />;
        if (open.dialog === "change") return <ChangeTag tag={open.item} users={users} onClose={close} />;
        return <DeleteTag tag={open.item} onClose={close} />;
      }}
    >
      {(tableOf) => tableOf(ofUsers)}
    </Changeable>
  );
}

interface TagFieldsProps {
  users: Schemas["User"][];
  name: string;
  onName: (name: string) => void;
  userIds: string[];
  onUsers: (userIds: string[]) => void;
}

const TagFields = ({ users, name, onName, userIds, onUsers }: TagFieldsProps) => (
  <>
    <NameField value={name} onChange={onName} />
    <MultiSelect label="Users" data={userOptions(users)} value={userIds} onChange={onUsers} searchable limit={100} />
  </>
);

function NewTag({ users, onClose }: { users: Schemas["User"][]; onClose: () => void }) {
  const [userTagName, setName] = useState("");
  const [userIds, setUserIds] = useState<string[]>([]);
  const create = useSubmit("create_user_tag");
  return (
    <FormDialog
      title="New tag"
      act="Create tag"
      mutation={create}
      isReady={userTagName.trim() !== ""}
      parameters={() => ({ userTagName, userIds })}
      onClose={onClose}
    >
      <TagFields users={users} name={userTagName} onName={setName} userIds={userIds} onUsers={setUserIds} />
    </FormDialog>
  );
}

interface OfTag {
  tag: Schemas["Tag"];
  onClose: () => void;
}

function ChangeTag({ tag: { tagId, tagName }, users, onClose }: OfTag & { users: Schemas["User"][] }) {
  const [before] = useState(() => users.filter(({ userTags }) => userTags.includes(tagId)).map(({ userId }) => userId));
  const [name, setName] = useState(tagName);
  const [userIds, setUserIds] = useState(before);
  const update = useSubmit("update_user_tag");
  return (
    <FormDialog
      title="Change a tag"
      act="Save tag"
      mutation={update}
      isReady={name.trim() !== ""}
      parameters={() => ({
        userTagId: tagId,
        ...(name === tagName ? {} : { newUserTagName: name }),
        addUserIds: userIds.filter((id) => !before.includes(id)),
        removeUserIds: before.filter((id) => !userIds.includes(id)),
      })}
      onClose={onClose}
    >
      <TagFields users={users} name={name} onName={setName} userIds={userIds} onUsers={setUserIds} />
    </FormDialog>
  );
}

function DeleteTag({ tag: { tagId, tagName }, onClose }: OfTag) {
  const remove = useSubmit("delete_user_tags");
  return (
    <DeleteDialog
      kind="tag"
      name={tagName}
      warning="Its users lose it, and policies that name it no longer match them."
      undo="It cannot be restored: a new tag with the same name has another ID."
      mutation={remove}
      parameters={{ userTagIds: [tagId] }}
      onClose={onClose}
    />
  );
}
