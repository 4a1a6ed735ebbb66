"""Settings of encryption: where the key comes from, and which memories are encrypted."""

import re
from fnmatch import translate
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator

from memory_butler.settings.redaction import KindName
from memory_butler.settings.values import Group

Searchable = Literal["none", "words", "vectors"]
# From the strictest on: of several policies for one memory, the strictest applies.
STRICTNESS: tuple[Searchable, ...] = ("none", "words", "vectors")
RoleName = Literal["reader", "agent", "admin", "operator"]

HEALTH = (
    *("health*", "*_health", "medical*", "*_medical_*", "diagnos*", "*_diagnosis", "illness*", "disease*", "*_disease"),
    *("condition", "*_condition", "symptom*", "medication*", "*_medication", "medicine*", "prescri*", "dosage*"),
    *("allerg*", "*_allergy", "*_allergies", "intoleran*", "*_intolerance", "blood_*", "surger*", "therap*"),
    *("treatment*", "disabilit*", "pregnan*", "vaccin*", "mental_*", "psych*", "addiction*", "care_*"),
)
IDENTITY = (
    *("passport*", "*_passport*", "ssn", "social_security*", "national_id*", "id_number*", "id_card*", "identity_*"),
    *("tax_id*", "tax_number*", "driver*licen*", "driving_licen*", "insurance_number*", "residence_permit*"),
)
FINANCES = (
    *("salar*", "*_salary", "income*", "*_income", "wage*", "iban", "*_iban", "bank_*", "account_number*", "debt*"),
    *("credit_*", "card_number*", "loan*", "mortgage*", "net_worth*", "savings*", "pension*", "financ*", "tax_*"),
)
CREDENTIALS = (
    *("password*", "*_password*", "passphrase*", "pin", "pin_*", "*_pin", "secret*", "*_secret", "api_key*"),
    *("*_api_key", "token", "*_token", "access_code*", "door_code*", "alarm_code*", "recovery_code*", "private_key*"),
    *("credential*", "*_credentials"),
)


class EncryptionPolicy(Group):
    """A class of memories that are encrypted."""

    predicates: tuple[str, ...] = Field(
        (), description="Facts with these predicates; an asterisk stands for any characters, as in `health*`."
    )
    butlers: tuple[str, ...] = Field((), description="All memories that these butlers store; `*` is allowed.")
    tenants: tuple[str, ...] = Field((), description="All memories of these tenants; `*` is allowed.")
    search: Searchable = Field(
        "none",
        description="How the encrypted text can be found: `none`; `words`, by exact words, as keyed hashes; `vectors`,"
        " by meaning, which stores vectors that reveal it. Subject, predicate and tags are always found.",
    )

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str] | None, ...]:
        return tuple(
            re.compile("|".join(map(translate, given))) if given else None
            for given in (self.predicates, self.butlers, self.tenants)
        )

    def covers(self, tenant: str, butlers: tuple[str, ...], predicate: str | None) -> bool:
        of_predicates, of_butlers, of_tenants = self._patterns
        return bool(
            (of_predicates and predicate is not None and of_predicates.match(predicate))
            or (of_butlers and any(map(of_butlers.match, butlers)))
            or (of_tenants and of_tenants.match(tenant))
        )


DEFAULT_POLICIES = {
    "health": EncryptionPolicy(predicates=HEALTH),
    "identity": EncryptionPolicy(predicates=IDENTITY),
    "finances": EncryptionPolicy(predicates=FINANCES),
    "credentials": EncryptionPolicy(predicates=CREDENTIALS),
}


class EncryptionSettings(Group):
    """Encryption of sensitive texts. It is on if there is a key."""

    key: SecretStr | None = Field(
        None,
        description="Master key, from `memory-butler keys new`. Of several, separated by commas, the first is used.",
    )
    key_file: Path | None = Field(
        None, description="File with the master key, outside the home folder. Of several lines, the first is used."
    )
    key_command: str | None = Field(
        None, description="Command that prints the master key, for example of a key management service."
    )
    policies: dict[KindName, EncryptionPolicy] = Field(
        default_factory=lambda: dict(DEFAULT_POLICIES),
        description="What is encrypted, by [class](#encryption-policies). Default: facts about `health`, `identity`"
        " numbers, `finances` and `credentials`. A class of the same name replaces a default one.",
    )
    rotate_days: int | None = Field(
        None,
        ge=1,
        le=36_500,
        description="The cleanup job makes a new key for texts after so many days. It also continues a rotation that"
        " was interrupted, with or without this setting.",
    )
    readers: tuple[RoleName, ...] = Field(
        ("reader", "agent", "admin", "operator"),
        description="Roles that read encrypted text. Others see that there is one, its subject and its predicate.",
    )

    @field_validator("policies", mode="before")
    @classmethod
    def _with_defaults(cls, given: Any) -> Any:
        return {**DEFAULT_POLICIES, **given} if isinstance(given, dict) else given

    @property
    def has_key(self) -> bool:
        return bool(self.key or self.key_file or self.key_command)

    def search_of(self, tenant: str, butlers: tuple[str, ...], predicate: str | None) -> Searchable | None:
        """How an encrypted memory can be found; None if it is not encrypted."""
        found = [one.search for one in self.policies.values() if one.covers(tenant, butlers, predicate)]
        return min(found, key=STRICTNESS.index, default=None)

    @property
    def hashes_words(self) -> bool:
        return any(policy.search == "words" for policy in self.policies.values())
