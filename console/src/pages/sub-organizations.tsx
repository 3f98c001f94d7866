import { Button, Group, Select, Text, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type SyntheticEvent, useState } from "react";
import type { RequestOf } from "../api/api.ts";
import { usePages } from "../api/pages.ts";
import { Answered } from "../parts/answered.tsx";
import { More } from "../parts/more.tsx";
import { Page } from "../parts/page.tsx";
import { ScrollTable } from "../parts/scroll-table.tsx";
import { TableRow } from "../parts/table-row.tsx";
import { Copyable } from "../parts/texts.tsx";

type Filter = NonNullable<RequestOf<"list_suborgs">["filterType"]>;

const FILTERS = [
  { value: "NAME", label: "Name" },
  { value: "USERNAME", label: "User's name" },
  { value: "EMAIL", label: "User's e-mail" },
  { value: "PHONE_NUMBER", label: "User's phone number" },
  { value: "PUBLIC_KEY", label: "Public key" },
  { value: "CREDENTIAL_ID", label: "Passkey's id" },
  { value: "WALLET_ACCOUNT_ADDRESS", label: "Address" },
] as const satisfies readonly { value: Filter; label: string }[];

interface Sought {
  filterType: Filter;
  filterValue: string;
}

/** All of them, newest first, or those with a certain user or credential: searched and paged by the server. */
export function SubOrganizations() {
  const [sought, setSought] = useState<Sought>({ filterType: "", filterValue: "" });
  const list = usePages(
    ["sub-organizations", sought],
    async (api, paginationOptions) =>
      (await api.query("list_suborgs", { ...(sought.filterValue === "" ? {} : sought), paginationOptions }))
        .organizationIds,
    (id) => id,
  );
  return (
    <Page title="Sub-organizations">
      <SearchForm onSearch={setSought} />
      <Answered to={list}>
        {({ pages }) =>
          pages.flat().length === 0 ? (
            <Text c="dimmed" role="status">
              {sought.filterValue === ""
                ? "There is no sub-organization yet."
                : "No sub-organization has exactly that."}
            </Text>
          ) : (
            <ScrollTable caption="Sub-organizations" head={["Sub-organization", "Id"]}>
              {pages.flat().map((id) => (
                <TableRow
                  key={id}
                  cells={[
                    <Link key="link" to="/sub-organizations/$subOrganizationId" params={{ subOrganizationId: id }}>
                      {id}
                    </Link>,
                    <Copyable key="id" text={id} label="organization id" />,
                  ]}
                />
              ))}
            </ScrollTable>
          )
        }
      </Answered>
      <More list={list} label="Show older ones" />
    </Page>
  );
}

function SearchForm({ onSearch }: { onSearch: (sought: Sought) => void }) {
  const [filterType, setType] = useState<Filter>("NAME");
  const [filterValue, setValue] = useState("");
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onSearch({ filterType, filterValue: filterValue.trim() });
  };
  return (
    <form onSubmit={submit}>
      <Group align="flex-end">
        <Select
          label="With this"
          data={FILTERS}
          value={filterType}
          onChange={(value) => setType(value as Filter)}
          allowDeselect={false}
        />
        <TextInput
          label="Which is exactly"
          value={filterValue}
          onChange={(event) => setValue(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          miw={280}
        />
        <Button type="submit" variant="default">
          Search
        </Button>
      </Group>
    </form>
  );
}
