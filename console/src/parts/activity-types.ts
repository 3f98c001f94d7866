import type { ComboboxItem, OptionsFilter } from "@mantine/core";
import { typeWords } from "./texts.tsx";

/** Types of activities to choose from: readers look for words, and whoever writes programs or policies for the API's constant. */

export const typeOption = (type: string): ComboboxItem => ({ value: type, label: typeWords(type) });

/** Finds an option by its words, and by the constant that it stands for. */
export const byWordsOrConstant: OptionsFilter = ({ options, search, limit }) => {
  const sought = search.trim().toLowerCase();
  return options
    .filter((option) => "value" in option && `${option.label} ${option.value}`.toLowerCase().includes(sought))
    .slice(0, limit);
};
