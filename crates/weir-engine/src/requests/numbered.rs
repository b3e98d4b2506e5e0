//! A request whose only field is a number. It is rendered once for each number of digits; then only
//! the digits are written.

use std::ops::{Range, RangeInclusive};

use weir_http::{RawRequest, RequestTraits};
use weir_requests::list::{NumberField, Places, Template, Values, fill_decimal};

use super::batch::Batch;

/// The forms of such a request.
#[derive(Debug)]
pub(crate) struct Numbered {
    field: NumberField,
    /// By the number of digits.
    forms: Vec<NumberedForm>,
    /// Number of digits in the last request, and the numbers that have as many.
    digits: usize,
    as_long: RangeInclusive<u64>,
}

#[derive(Debug, Default)]
struct NumberedForm {
    batch: Batch,
    place: Range<usize>,
}

impl Numbered {
    /// Returns the forms of a template that has no other field.
    pub(crate) fn new(template: &Template) -> Option<Numbered> {
        let field = template.only_number()?;
        let no_number = RangeInclusive::new(1, 0);
        Some(Numbered { field, forms: Vec::new(), digits: 0, as_long: no_number })
    }

    /// Renders the request of the template with this index; `seed` is that of the run.
    #[inline(always)]
    pub(crate) fn render(
        &mut self,
        seed: u64,
        index: u64,
        template: &Template,
        traits: RequestTraits,
    ) -> &Batch {
        let number = self.field.value(seed, index);
        if !self.as_long.contains(&number) {
            let values = Values { seed, index, ..Values::default() };
            self.switch(number, values, template, traits);
        }
        let NumberedForm { batch, place } = &mut self.forms[self.digits];
        fill_decimal(number, &mut batch.bytes[place.clone()]);
        batch
    }

    /// Goes to the form with as many digits as a number has.
    #[cold]
    fn switch(
        &mut self,
        number: u64,
        values: Values<'_>,
        template: &Template,
        traits: RequestTraits,
    ) {
        let log = number.checked_ilog10().unwrap_or(0);
        let least = if log == 0 { 0 } else { 10_u64.pow(log) };
        self.as_long = least..=10_u64.checked_pow(log + 1).map_or(u64::MAX, |power| power - 1);
        self.digits = log as usize + 1;
        while self.forms.len() <= self.digits {
            self.forms.push(NumberedForm::default());
        }
        let NumberedForm { batch, place } = &mut self.forms[self.digits];
        if batch.requests.is_empty() {
            let mut places = Places::default();
            template.render_again(values, &mut batch.bytes, &mut places);
            *place = places.only();
            let bytes = u32::try_from(batch.bytes.len()).expect("values are limited when planned");
            batch.requests.push(RawRequest { bytes, traits });
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_requests::list::{Constants, FieldSources, TemplateFields, TextForm};

    use super::*;

    struct NoConstants;

    impl Constants for NoConstants {
        fn variable(&self, _name: &str) -> Result<String, String> {
            Err("no variable".to_owned())
        }

        fn file(&self, _path: &str) -> Result<String, String> {
            Err("no file".to_owned())
        }
    }

    fn template(text: &str) -> Template {
        let mut fields = TemplateFields::default();
        let sources = FieldSources { table: None, captured: None, constants: &NoConstants };
        let marked = fields.mark(text, TextForm::Plain, &sources).expect("fields");
        fields.template(marked.as_bytes())
    }

    #[test]
    fn each_form_is_the_whole_request() {
        for text in [
            "GET /{{seq}}/x HTTP/1.1\r\n\r\n",
            "GET /{{rand:0:18446744073709551615}} HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\na{{rand:0:12000}}b",
        ] {
            let template = template(text);
            let mut numbered = Numbered::new(&template).expect("a number");
            let mut whole = Vec::new();
            for index in (0..12_000).chain([u64::MAX, 10_u64.pow(19), 10_u64.pow(19) - 1, 5]) {
                let values = Values { seed: 3, index, ..Values::default() };
                template.render(values, &mut whole);
                let batch = numbered.render(3, index, &template, RequestTraits::default());
                assert_eq!((&batch.bytes, batch.requests.len()), (&whole, 1), "{index}");
                assert_eq!(batch.requests[0].bytes as usize, whole.len(), "{index}");
            }
        }
    }

    #[test]
    fn other_requests_have_no_forms() {
        for text in ["GET /{{seq}}/{{seq}} HTTP/1.1\r\n\r\n", "GET /{{uuid}} HTTP/1.1\r\n\r\n"] {
            assert!(Numbered::new(&template(text)).is_none(), "{text}");
        }
    }
}
