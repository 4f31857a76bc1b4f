package reading_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// What a sentence is about ends before its particle, in Chinese, Japanese and Korean. In a script without
// capitals in which no language is known, a sentence is about what is written as a name, or about nothing.
func TestPrimaryInOtherScripts(t *testing.T) {
	for text, want := range map[string]string{
		"결제 서비스의 담당자는 김민수입니다.":                 "결제 서비스",
		"배포는 매주 화요일에 합니다.":                     "배포",
		"회의는 목요일 오전 열 시입니다.":                   "회의",
		"박지영이 디자인을 담당합니다.":                     "박지영",
		"데이터베이스를 PostgreSQL로 옮겼습니다.":           "postgresql",
		"나는 채식주의자입니다.":                         "",
		"저는 부산으로 이사했습니다.":                      "",
		"고객 번호를 로그에 남기지 마세요.":                  "",
		"スマホの料金は月3000円です。":                     "スマホ",
		"ログインには二段階認証が必要です。":                    "ログイン",
		"注文システムへの接続はVPN経由です。":                  "注文システム",
		"DBには全部UTCで入れます。":                      "db",
		"おはようございます、資料は共有フォルダにあります。":            "資料",
		"大丈夫です、ありがとうございます。":                    "",
		"佐藤さんも承認できます。":                         "佐藤さん",
		"我们的部署平台是阿里云。":                         "部署平台",
		"测试环境的域名是 test.example.cn。":            "测试环境",
		"订单系统也用同一个数据库。":                        "订单系统",
		"客户想要英文界面。":                            "客户",
		"我女儿今年上小学了。":                           "",
		"مدير المشروع هو أحمد حسن.":            "",
		"خادم النسخ الاحتياطي اسمه Atlas.":     "atlas",
		"הפריסה מתבצעת עם Jenkins.":            "jenkins",
		"המנהל של הפרויקט הוא דוד כהן.":        "",
		"Сервис оплаты использует PostgreSQL.": "postgresql",
	} {
		c, got := claim(text), ""
		if r := reading.Read(&c, nil); len(r.Entities) > 0 {
			got = r.Entities[0].Name
		}
		if got != analysis.Entity(want) {
			t.Errorf("%q is about %q, want %q", text, got, want)
		}
	}
}
